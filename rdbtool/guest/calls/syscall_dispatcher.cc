// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/calls/syscall_dispatcher.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/calls/exec_calls.h"
#include "rdbtool/guest/calls/fork_calls.h"
#include "rdbtool/guest/calls/refused_calls.h"
#include "rdbtool/guest/calls/seccomp_filter.h"
#include "rdbtool/guest/calls/syscall_executor.h"
#include "rdbtool/guest/host/hidden_host.h"
#include "rdbtool/guest/memory/memory_calls.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_end.h"
#include "rdbtool/guest/process/process_listener.h"
#include "rdbtool/guest/signals/block_signals.h"
#include "rdbtool/guest/signals/live_signals.h"
#include "rdbtool/guest/signals/signal_inbox.h"
#include "rdbtool/guest/threads/affinity.h"
#include "rdbtool/guest/threads/futex_calls.h"
#include "rdbtool/guest/threads/guest_threads.h"
#include "rdbtool/guest/threads/tracing_child.h"
#include "rdbtool/guest/threads/turns.h"
#include "rdbtool/syscalls/call_properties.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/syscall.h>

namespace rdb::guest {
namespace {

using engine::RAX;

// Whether its arguments say where memory is, but not that the kernel is to access it.
bool is_memory_call(int64_t number) {
  const SyscallInfo* info = find_syscall(static_cast<uint64_t>(number));
  return info != nullptr && info->call_class == CallClass::memory;
}

// What the kernel sends a program whose filter says SECCOMP_RET_TRAP.
PendingSignal signal_of_filter(const SystemCall& call, uint32_t data, uint64_t address) {
  PendingSignal signal;
  signal.number = SIGSYS;
  signal.info.si_signo = SIGSYS;
  signal.info.si_code = 1; // SYS_SECCOMP
  signal.info.si_errno = static_cast<int>(data);
  signal.info.si_call_addr = reinterpret_cast<void*>(address);
  signal.info.si_syscall = static_cast<int>(call.number);
  signal.info.si_arch = AUDIT_ARCH_X86_64;
  return signal;
}

} // namespace

ThreadOutcome SyscallDispatcher::dispatch() {
  Machine& machine = p_.machine;
  SystemCall call = machine.current_call();
  p_.listener.on_syscall_entry(machine);
  if (p_.filters.active())
    if (std::optional<ThreadOutcome> refused = filter(call)) return *refused;
  Thread& self = machine.current();
  bool changes_mask =
      call.number == SYS_rt_sigreturn || (call.number == SYS_rt_sigprocmask && call.arguments[1] != 0);
  if (changes_mask) block_asynchronous();
  if (self.pending) p_.inbox.put_back(self, call);
  // A signal that is here already comes before the call, which may be the one that blocks it.
  bool passes_on = call.number == SYS_exit && p_.inbox.hold_back(self) != 0;
  if (self.pending && !passes_on) return put_result(call, finish(call, kNotStarted));
  if (call.number == SYS_rt_sigreturn) return return_from_signal(call);
  ThreadOutcome outcome = ThreadOutcome::goes_on;
  int64_t result = properties_of(call.number).mask_arg != kNoArgument ? wait_with_mask(call, outcome)
                                                                      : carry_out(call, outcome);
  if (changes_mask && result != 0) machine.set_mask(machine.mask());
  return outcome != ThreadOutcome::goes_on ? outcome : put_result(call, result);
}

ThreadOutcome SyscallDispatcher::put_result(const SystemCall& call, int64_t result) {
  engine::Registers& regs = p_.machine.registers();
  if (result == -EFAULT && !is_memory_call(call.number))
    for (uint64_t argument : call.arguments)
      p_.memory.refuse_growth(GuestAddr(argument), "a system call that accesses memory");
  if (result == kNotStarted) {
    // A signal comes first; afterwards the call is made again.
    regs.rip -= 2;
    return ThreadOutcome::goes_on;
  }
  regs.gpr[RAX] = static_cast<uint64_t>(result);
  if (std::optional<PendingSignal> fault = p_.machine.vsyscall_fault(call, result))
    return p_.delivery.deliver(*fault);
  return ThreadOutcome::goes_on;
}

ThreadOutcome SyscallDispatcher::return_from_signal(const SystemCall& call) {
  finish(call, 0);
  if (p_.machine.return_from_signal()) {
    p_.machine.current().returned_at = p_.machine.now();
    return ThreadOutcome::goes_on;
  }
  PendingSignal bad_frame;
  bad_frame.number = SIGSEGV;
  bad_frame.info.si_signo = SIGSEGV;
  bad_frame.info.si_code = SI_KERNEL;
  return p_.delivery.deliver(bad_frame);
}

std::optional<uint64_t> SyscallDispatcher::mask_of(const SystemCall& call) {
  AddressSpace& space = p_.machine.space();
  uint64_t at = call.arguments[static_cast<size_t>(properties_of(call.number).mask_arg)];
  if (call.number == SYS_pselect6 && at != 0 && space.read(GuestAddr(at), &at, 8) != 8) return std::nullopt;
  uint64_t mask;
  if (at == 0 || space.read(GuestAddr(at), &mask, 8) != 8) return std::nullopt;
  return mask;
}

// A signal that ends such a call is delivered under the call's mask; it has been read by then, and other
// threads may have changed the memory where it was.
int64_t SyscallDispatcher::wait_with_mask(const SystemCall& call, ThreadOutcome& outcome) {
  Thread& self = p_.machine.current();
  std::optional<uint64_t> mask = mask_of(call);
  self.mask_of_call = mask;
  int64_t result;
  if (mask && p_.inbox.has_held(*mask)) {
    self.pending = true;
    result = finish(call, -EINTR);
  } else {
    result = carry_out(call, outcome);
  }
  self.mask_of_call.reset();
  if (mask && result == -EINTR && self.pending) p_.machine.wait_ended(*mask);
  return result;
}

int64_t SyscallDispatcher::finish(const SystemCall& call, int64_t result) {
  p_.listener.on_syscall_exit(p_.machine, call, result);
  return result;
}

int64_t SyscallDispatcher::execute(const SystemCall& call, const CallShape& shape) {
  return p_.executor.execute(p_.machine, call, shape, p_.baton);
}

int64_t SyscallDispatcher::carry_out(const SystemCall& call, ThreadOutcome& outcome) {
  Machine& machine = p_.machine;
  const SyscallInfo* info = find_syscall(static_cast<uint64_t>(call.number));
  if (info == nullptr) return finish(call, -ENOSYS);
  CallShape shape = shape_of(*info, call.arguments);
  if (p_.tracing.any()) {
    if (p_.tracing.ends_by(call)) {
      outcome = p_.tracing.end(call);
      return 0;
    }
    if (std::optional<int64_t> result = p_.tracing.call(call)) return *result;
  }
  switch (call.number) {
  case SYS_exit:
    outcome = p_.threads.end_current(call);
    return 0;
  case SYS_exit_group:
    return exit_group(call, outcome);
  case SYS_set_tid_address:
    machine.current().clear_child_tid = GuestAddr(call.arguments[0]);
    return finish(call, machine.current().id.value);
  case SYS_futex:
  case SYS_futex_waitv:
    return p_.futexes.is_for_kernel(call) ? execute(call, shape) : finish(call, p_.futexes.call(call));
  case SYS_gettid:
    return machine.in_one_thread() ? finish(call, machine.current().id.value) : execute(call, shape);
  case SYS_tgkill:
  case SYS_tkill:
    return machine.in_one_thread() ? finish(call, p_.inbox.send(call)) : execute(call, shape);
  case SYS_sched_yield:
    p_.turns.cut();
    return finish(call, 0);
  case SYS_clone:
    return clone(call);
  case SYS_fork:
  case SYS_vfork:
    return p_.fork.call(call);
  case SYS_rt_sigaction:
    return set_action(call);
  case SYS_execve:
  case SYS_execveat:
    return finish(call, p_.exec.call(call));
  default:
    return answer_or_execute(call, shape);
  }
}

int64_t SyscallDispatcher::exit_group(const SystemCall& call, ThreadOutcome& outcome) {
  finish(call, 0);
  p_.machine.registers().gpr[RAX] = 0; // as replay has it
  p_.end.end({Ending::Kind::exited, static_cast<int>(call.arguments[0]) & 0xFF});
  outcome = ThreadOutcome::process_ended;
  return 0;
}

int64_t SyscallDispatcher::clone(const SystemCall& call) {
  if (int error = p_.fork.check_clone(call.arguments)) return finish(call, error);
  if (makes_thread(call)) return finish(call, p_.threads.start(call));
  if (TracingChildren::is_made_by(call.arguments[0])) return finish(call, p_.tracing.start(call));
  return p_.fork.call(call);
}

int64_t SyscallDispatcher::set_action(const SystemCall& call) {
  if (p_.fork.shares_actions() && call.arguments[1] != 0)
    limit("a process that shares its parent's signal actions and changes one (clone with CLONE_SIGHAND)");
  return finish(call, *p_.machine.internal_call(call));
}

std::optional<ComputedAnswer> SyscallDispatcher::computed_answer(SystemCall& call) {
  if (std::optional<ComputedAnswer> answer = p_.hidden_host.answer(call)) return answer;
  if (std::optional<ComputedAnswer> answer = p_.affinity.answer(p_.machine, call)) return answer;
  return p_.filters.answer(p_.machine.space(), p_.refusals, call);
}

int64_t SyscallDispatcher::answer_or_execute(SystemCall call, CallShape shape) {
  if (std::optional<ComputedAnswer> answer = computed_answer(call))
    return p_.executor.deliver(p_.machine, call, *answer);
  bool refused = shape.call_class == CallClass::refused;
  if (std::optional<int64_t> own = p_.machine.internal_call(call)) {
    // Requests that nobody knows are tried by some C libraries at every start.
    if (refused && shape.variant != nullptr) p_.refusals.tell_call(shape, call.arguments);
    return finish(call, *own);
  }
  if (shape.call_class == CallClass::memory) return finish(call, p_.memory.call(call));
  if (refused) {
    int error = error_of_refused(shape, call.arguments, p_.machine.space());
    if (error == shape.error) p_.refusals.tell_call(shape, call.arguments);
    shape.error = error;
  }
  return execute(call, shape);
}

std::optional<ThreadOutcome> SyscallDispatcher::filter(const SystemCall& call) {
  engine::Registers& regs = p_.machine.registers();
  uint32_t verdict = p_.filters.judge(call, regs.rip);
  uint32_t data = verdict & SECCOMP_RET_DATA;
  auto give = [&](int64_t result) {
    regs.gpr[RAX] = static_cast<uint64_t>(finish(call, result));
    return ThreadOutcome::goes_on;
  };
  switch (verdict & SECCOMP_RET_ACTION_FULL) {
  case SECCOMP_RET_ALLOW:
  case SECCOMP_RET_LOG:
    return std::nullopt;
  case SECCOMP_RET_ERRNO:
    return give(-static_cast<int64_t>(std::min<uint32_t>(data, 4095)));
  case SECCOMP_RET_TRACE: // there is no tracer
    return give(-ENOSYS);
  case SECCOMP_RET_TRAP:
    // The call is rolled back: its number stays in rax.
    finish(call, call.number);
    return p_.delivery.deliver(signal_of_filter(call, data, regs.rip));
  default:
    finish(call, call.number);
    p_.end.end({Ending::Kind::signalled, p_.filters.strict() ? SIGKILL : SIGSYS});
    return ThreadOutcome::process_ended;
  }
}

} // namespace rdb::guest
