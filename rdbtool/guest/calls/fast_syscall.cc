// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled for general registers alone and without stack protector: FS and the vectors are the guest's.
#include "rdbtool/guest/calls/fast_syscall.h"

#include "rdbtool/guest/calls/seccomp_filter.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "rdbtool/syscalls/call_properties.h"

#include <cerrno>

namespace rdb::guest {
namespace {

bool perform(void* context, engine::Registers& regs, uint64_t) {
  const UnrecordedCalls& calls = *static_cast<const UnrecordedCalls*>(context);
  uint64_t number = regs.gpr[engine::RAX];
  // A guest's filter judges every call.
  const CallProperties& properties = properties_of(static_cast<int64_t>(number));
  if (properties.fast < FastPath::unrecorded || calls.filters->active()) return false;
  // The host's descriptors do not exist for the guest: the complete path says so.
  if (properties.on_descriptor && regs.gpr[engine::RDI] >= kNeverOwn) return false;
  const engine::Gpr order[6] = {engine::RDI, engine::RSI, engine::RDX, engine::R10, engine::R8, engine::R9};
  int64_t arguments[6];
  for (int i = 0; i < 6; ++i)
    arguments[i] = static_cast<int64_t>(regs.gpr[order[i]]);
  int64_t result =
      interruptible_syscall(&calls.machine->current().pending, static_cast<int64_t>(number), arguments);
  // Memory may look bad to the kernel because rdb protects it: the complete path knows what to do.
  if (result == kNotStarted || result == -EFAULT) return false;
  regs.gpr[engine::RAX] = static_cast<uint64_t>(result);
  return true;
}

} // namespace

engine::FastSyscall make_fast_syscall(UnrecordedCalls& calls) {
  return {&perform, &calls};
}

} // namespace rdb::guest
