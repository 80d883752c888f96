// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A system call as the guest makes it: its number and its arguments, taken from the registers.
#pragma once

#include "rdbtool/engine/engine.h"
#include "rdbtool/syscalls/table.h"

#include <cstdint>

namespace rdb::guest {

struct SystemCall {
  int64_t number = 0;
  SyscallArgs arguments = {};
};

// A call that rdb has made in place of the guest, with success.
struct MadeCall {
  SystemCall call;
  int64_t result = 0;
};

// The call that a thread with these registers has just made.
SystemCall call_in(const engine::Registers& registers);

// Whether the process that the call makes has its parent's memory, and no copy (vfork).
bool shares_memory(const SystemCall& call);
// Whether what a call of clone makes belongs to the same process.
bool makes_thread(const SystemCall& call);

} // namespace rdb::guest
