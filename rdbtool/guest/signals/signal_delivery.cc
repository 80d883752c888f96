// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a signal is delivered: it is ignored, it ends the process, or a frame is pushed and the guest's
// handler runs. Recording and replay both come here; a live process by live_signals.cc, which tells its
// listener first.
#include "rdbtool/base/log.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "rdbtool/guest/signals/signal_frame.h"

#include <csignal>

namespace rdb::guest {
namespace {

const auto kDefault = reinterpret_cast<uint64_t>(SIG_DFL);
const auto kIgnore = reinterpret_cast<uint64_t>(SIG_IGN);

uint64_t bit(int signal) {
  return 1ull << (signal - 1);
}

bool ignored_by_default(int signal) {
  return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}

// The CPU sets the resume flag for faults, after which the instruction is executed again, but not for traps,
// where it is done. For an address that there cannot be, it is the kernel's return to it that has faulted.
bool is_begun_again(uint64_t trap, uint64_t pc) {
  constexpr uint64_t kDebug = 1, kBreakpoint = 3, kOverflow = 4;
  return trap != kDebug && trap != kBreakpoint && trap != kOverflow && engine::is_canonical(pc);
}

} // namespace

bool ends_by_default(int signal) {
  switch (signal) {
  case SIGKILL: // nobody can see it come
  case SIGSTOP:
  case SIGTSTP:
  case SIGTTIN:
  case SIGTTOU:
    return false;
  default:
    return !ignored_by_default(signal);
  }
}

Machine::Delivery Machine::deliver(const PendingSignal& signal) {
  log_line(Topic::guest, "thread {}: signal {} (code {}) at {:#x}", current_->id.value, signal.number,
           signal.info.si_code, registers().rip);
  SignalAction action = this->action(signal.number);
  PendingSignal told = signal;
  auto& trap = current_->last_trap;
  bool is_trap = signal.trap_number != 0 || (signal.number == SIGFPE && signal.info.si_code > 0);
  if (is_trap) trap.number = signal.trap_number;
  if (is_trap) trap.error_code = signal.error_code;
  if (signal.trap_number == kPageFault) trap.address = signal.fault_address;
  told.resumes |= is_trap ? is_begun_again(signal.trap_number, registers().rip)
                          : signal.info.si_code == SI_KERNEL && engine::is_in_vsyscall_page(registers().rip);
  told.trap_number = trap.number;
  told.error_code = trap.error_code;
  told.fault_address = trap.address;
  // A fault whose signal is blocked or ignored kills.
  bool forced = signal.info.si_code > 0 && kSynchronousSignals & bit(signal.number);
  if (forced && (current_->mask & bit(signal.number) || action.handler == kIgnore)) action.handler = kDefault;
  bool ignored =
      action.handler == kIgnore || (action.handler == kDefault && ignored_by_default(signal.number));
  uint64_t mask_to_return_to = current_->mask_before.value_or(current_->mask);
  if (ignored) {
    if (current_->mask_before) set_mask(mask_to_return_to);
    current_->mask_before.reset();
    return Delivery::ignored;
  }
  if (action.handler == kDefault) {
    fatal_signal_ = signal.number;
    return Delivery::fatal;
  }
  if (action.flags & SA_RESETHAND) {
    SignalAction reset = action;
    reset.handler = kDefault;
    set_action(signal.number, reset);
  }
  if (!push_signal_frame(*engine_, space_, action, current_->alternate_stack, mask_to_return_to, told))
    return deliver_without_room(told);
  current_->mask_before.reset();
  if (current_->alternate_stack.flags & kAutoDisarm) current_->alternate_stack = {};
  uint64_t mask = current_->mask | action.mask;
  if (!(action.flags & SA_NODEFER)) mask |= bit(signal.number);
  set_mask(mask);
  return Delivery::handler;
}

// The stack could not take the frame of a signal. A handler of SIGSEGV may have another stack; if it was that
// handler's own, the process ends.
Machine::Delivery Machine::deliver_without_room(const PendingSignal& signal) {
  if (signal.number == SIGSEGV) {
    fatal_signal_ = SIGSEGV;
    return Delivery::fatal;
  }
  PendingSignal no_room;
  no_room.number = SIGSEGV;
  no_room.info.si_signo = SIGSEGV;
  no_room.info.si_code = SI_KERNEL;
  no_room.resumes = signal.resumes;
  return deliver(no_room);
}

} // namespace rdb::guest
