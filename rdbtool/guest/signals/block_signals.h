// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The signals that the kernel holds back from this OS thread.
#pragma once

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/signals/host_signals.h"

#include <sys/syscall.h>

namespace rdb::guest {

inline void block_asynchronous() {
  uint64_t all = ~kSynchronousSignals;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&all), 0, 8);
}

} // namespace rdb::guest
