// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resource limits are set for the guest, but they hit rdb first, which lives in the same process and needs
// more than many programs do. So rdb lifts its own as far as it may; the guest is shown those that it was
// given.
#pragma once

#include <sys/resource.h>

namespace rdb::guest {

// Of address space, data and stack. Runs before all constructors: some of them would not find enough memory.
// Where a stack that rdb can live with is not to be had, it ends the process with one line.
void lift_own_limits();

// What this process was started with, for those three.
rlimit limit_at_start(int resource);
// Where rdb has started itself again under another limit.
void set_limit_at_start(int resource, const rlimit& limit);

} // namespace rdb::guest
