// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ends rdb as the guest ended: same status, same signal.
#pragma once

#include "rdbtool/guest/process/machine.h"

namespace rdb::guest {

[[noreturn]] void end_as(const Ending& ending);

// Of a process that has ended, by what wait says of it.
Ending ending_of(int wait_status);

// "exit 3", "SIGSEGV": for messages.
std::string describe(const Ending& ending);

} // namespace rdb::guest
