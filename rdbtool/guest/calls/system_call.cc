// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/calls/system_call.h"

#include <sched.h>
#include <sys/syscall.h>

namespace rdb::guest {

SystemCall call_in(const engine::Registers& regs) {
  SystemCall call;
  call.number = static_cast<int64_t>(regs.gpr[engine::RAX]);
  const engine::Gpr order[6] = {engine::RDI, engine::RSI, engine::RDX, engine::R10, engine::R8, engine::R9};
  for (size_t i = 0; i < 6; ++i)
    call.arguments[i] = regs.gpr[order[i]];
  return call;
}

bool makes_thread(const SystemCall& call) {
  return call.number == SYS_clone && call.arguments[0] & CLONE_THREAD;
}

bool shares_memory(const SystemCall& call) {
  return call.number == SYS_vfork || (call.number == SYS_clone && call.arguments[0] & CLONE_VM);
}

} // namespace rdb::guest
