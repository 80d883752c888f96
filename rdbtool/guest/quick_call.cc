// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled for general registers alone and without stack protector: FS and the vectors are the guest's.
#include "rdbtool/guest/quick_call.h"

#include "rdbtool/guest/host_descriptors.h"
#include "rdbtool/guest/host_signals.h"
#include "rdbtool/guest/process.h"

#include <cerrno>
#include <sys/syscall.h>

namespace rdb::guest {
namespace {

// Calls that are frequent, never concern rdb itself, and take their descriptors and memory as they are.
constexpr bool is_plain(uint64_t number) {
  switch (number) {
  case SYS_read:
  case SYS_write:
  case SYS_pread64:
  case SYS_pwrite64:
  case SYS_writev:
  case SYS_lseek:
  case SYS_fstat:
  case SYS_poll:
  case SYS_clock_gettime:
  case SYS_gettimeofday:
  case SYS_getrandom:
  case SYS_getuid:
  case SYS_geteuid:
  case SYS_recvfrom:
  case SYS_sendto:
    return true;
  default:
    return false;
  }
}

// Of those: whether the first argument is no descriptor.
constexpr bool is_about_none(uint64_t number) {
  switch (number) {
  case SYS_poll:
  case SYS_clock_gettime:
  case SYS_gettimeofday:
  case SYS_getrandom:
  case SYS_getuid:
  case SYS_geteuid:
    return true;
  default:
    return false;
  }
}

bool perform(void* context, engine::Registers& regs, uint64_t) {
  Process& process = *static_cast<Process*>(context);
  uint64_t number = regs.gpr[engine::RAX];
  // A guest's filter judges every call.
  if (!is_plain(number) || process.seccomp().active()) return false;
  // The host's descriptors do not exist for the guest: the long way says so.
  if (!is_about_none(number) && regs.gpr[engine::RDI] >= kNeverOwn) return false;
  const engine::Gpr order[6] = {engine::RDI, engine::RSI, engine::RDX, engine::R10, engine::R8, engine::R9};
  int64_t arguments[6];
  for (int i = 0; i < 6; ++i)
    arguments[i] = static_cast<int64_t>(regs.gpr[order[i]]);
  int64_t result = interruptible_syscall(&process.current().pending, static_cast<int64_t>(number), arguments);
  // Memory may look bad to the kernel because rdb protects it: the long way knows what to do.
  if (result == kNotStarted || result == -EFAULT) return false;
  regs.gpr[engine::RAX] = static_cast<uint64_t>(result);
  return true;
}

} // namespace

engine::QuickCall plain_quick_call(Process& process) {
  return {&perform, &process};
}

} // namespace rdb::guest
