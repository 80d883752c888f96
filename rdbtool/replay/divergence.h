// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a difference between a replay and its recording means. Nobody can tell a forged recording from a bug
// of rdb, so the user reads both; if the program had memory that others could change unseen, that is the
// likely cause.
#pragma once

#include "rdbtool/base/error.h"
#include "rdbtool/replay/replayer.h"

namespace rdb::replay {

[[noreturn]] inline void report_divergence(const Replayer& replayer, const Divergence& difference) {
  if (replayer.shared_with_others().empty())
    throw std::runtime_error(fmt::format(
        "{}. Either somebody has changed the recording, or this CPU is of another kind than the one "
        "that recorded it, or rdb is wrong: if you have made the recording here, please report it",
        difference.what()));
  limit(
      "memory shared with a program outside the recording: {0} was mapped shared, and {1}. "
      "The same is seen where a program looks at what it has written after the end of {0} in its last page, "
      "which the kernel clears at any time. If neither is so, this is an error of rdb: please report it",
      replayer.shared_with_others(), difference.what());
}

} // namespace rdb::replay
