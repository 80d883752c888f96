// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ends rdb as the guest ended: same status, same signal.
#pragma once

#include "rdbtool/guest/machine.h"

namespace rdb::cli {

[[noreturn]] void end_as(const guest::Ending& ending);

// "exit 3", "SIGSEGV": for messages.
std::string describe(const guest::Ending& ending);

} // namespace rdb::cli
