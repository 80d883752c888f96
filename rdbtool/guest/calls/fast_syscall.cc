// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled for general registers alone and without stack protector: FS and the vectors are the guest's.
#include "rdbtool/guest/calls/fast_syscall.h"

#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/process/process.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "rdbtool/syscalls/facts.h"

#include <cerrno>

namespace rdb::guest {
namespace {

bool perform(void* context, engine::Registers& regs, uint64_t) {
  Process& process = *static_cast<Process*>(context);
  uint64_t number = regs.gpr[engine::RAX];
  // A guest's filter judges every call.
  const CallFacts& facts = facts_of(static_cast<int64_t>(number));
  if (facts.fast < FastPath::unrecorded || process.seccomp().active()) return false;
  // The host's descriptors do not exist for the guest: the complete path says so.
  if (facts.on_descriptor && regs.gpr[engine::RDI] >= kNeverOwn) return false;
  const engine::Gpr order[6] = {engine::RDI, engine::RSI, engine::RDX, engine::R10, engine::R8, engine::R9};
  int64_t arguments[6];
  for (int i = 0; i < 6; ++i)
    arguments[i] = static_cast<int64_t>(regs.gpr[order[i]]);
  int64_t result = interruptible_syscall(&process.current().pending, static_cast<int64_t>(number), arguments);
  // Memory may look bad to the kernel because rdb protects it: the complete path knows what to do.
  if (result == kNotStarted || result == -EFAULT) return false;
  regs.gpr[engine::RAX] = static_cast<uint64_t>(result);
  return true;
}

} // namespace

engine::FastSyscall make_plain_fast_syscall(Process& process) {
  return {&perform, &process};
}

} // namespace rdb::guest
