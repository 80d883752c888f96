// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call that the kernel makes for a guest thread, and that a signal for this thread ends.
#pragma once

#include "rdbtool/guest/calls/system_call.h"

namespace rdb::guest {

class Machine;
struct Thread;

// kNotStarted if a signal must be delivered before. The thread `self` needs no baton for this.
int64_t interruptible_call(const Machine& machine, Thread& self, const CallShape& shape,
                           const SyscallArgs& arguments);

} // namespace rdb::guest
