// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb record --until-fail: records again and again, each time with another schedule and layout, until a run
// fails. Good runs are thrown away.
#pragma once

#include "rdbtool/cli/options.h"
#include "rdbtool/record/session.h"

#include <optional>
#include <string>

namespace rdb::cli {

struct UntilFail {
  bool wanted = false;
  uint64_t runs = 0;  // at most so many; 0: no limit
  std::string time;   // at most so long, as typed: 30, 30s, 5m, 2h
  std::string detect; // a shell command that knows a failed run: it gets RDB_TRACE and RDB_STATUS
};

void take_until_fail(CommandOptions& command, UntilFail& options);

// The first run that failed; nothing if none did. The seeds begin with that of the session.
std::optional<record::SessionResult> record_until_fail(record::SessionOptions session,
                                                       const UntilFail& options, bool quiet);

} // namespace rdb::cli
