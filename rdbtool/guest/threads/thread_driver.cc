// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/thread_driver.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/calls/seccomp_filter.h"
#include "rdbtool/guest/calls/syscall_dispatcher.h"
#include "rdbtool/guest/calls/syscall_executor.h"
#include "rdbtool/guest/memory/memory_calls.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_end.h"
#include "rdbtool/guest/process/process_listener.h"
#include "rdbtool/guest/signals/block_signals.h"
#include "rdbtool/guest/signals/live_signals.h"
#include "rdbtool/guest/signals/signal_inbox.h"
#include "rdbtool/guest/threads/guest_threads.h"

#include <algorithm>
#include <utility>

namespace rdb::guest {

ThreadDriver::ThreadDriver(const Parts& parts, uint64_t max_instructions)
    : p_(parts), max_instructions_(max_instructions), lockstep_(parts.machine),
      copies_(parts.machine.options().turns) {}

void ThreadDriver::use_fast_path() {
  if (!p_.machine.options().lockstep) fast_syscall_ = p_.executor.fast_path(p_.machine, p_.filters);
}

void ThreadDriver::run_first(Thread& self) {
  p_.threads.adopt_first(self);
  p_.turns.take_back(self);
  try {
    run_turns(self);
  } catch (const ProcessOver&) {
    // Another thread has ended the process.
  } catch (...) {
    p_.end.fail();
  }
  while (p_.machine.in_one_thread() && !p_.end.is_over())
    p_.scheduler.leave();
  SignalInbox::receive_for(nullptr);
  p_.end.wait_until_over();
  p_.threads.join_all();
  // Nothing comes in any more: nobody is left to take it.
  block_asynchronous();
}

void ThreadDriver::run_in_fiber(Thread& self) {
  try {
    p_.turns.take_back(self);
    run_turns(self);
  } catch (...) {
    p_.end.fail();
  }
  if (!p_.end.is_over()) p_.scheduler.leave();
  p_.threads.leave_last_fiber();
}

void ThreadDriver::run_in_os_thread(Thread& self) {
  SignalInbox::receive_for(&self);
  try {
    p_.turns.take_back(self);
    p_.inbox.open(self.mask);
    run_turns(self);
  } catch (const ProcessOver&) {
    return;
  } catch (...) {
    p_.end.fail();
  }
  p_.end.end_orphan();
}

ThreadOutcome ThreadDriver::run_turns(Thread& self) {
  ThreadOutcome outcome = ThreadOutcome::goes_on;
  while (outcome == ThreadOutcome::goes_on) {
    if (!self.sent.empty()) SignalInbox::take_sent(self);
    if (self.pending) {
      outcome = take_signal(self);
      continue;
    }
    if (p_.machine.engine().executed() >= max_instructions_) {
      p_.end.end({Ending::Kind::stopped, 0});
      return ThreadOutcome::process_ended;
    }
    Turns::State turn = p_.turns.state();
    if (turn == Turns::State::over)
      p_.turns.pass();
    else
      outcome = run_guest(turn);
  }
  return outcome;
}

// Delivers the pending signal, or lets the guest run for a while first if it is delayed.
ThreadOutcome ThreadDriver::take_signal(Thread& self) {
  Machine& machine = p_.machine;
  uint64_t delay = std::max(p_.scheduler.signal_delay(), p_.inbox.hold_back(self));
  if (delay != 0 && !self.delayed) {
    self.delayed = true;
    machine.engine().run(0); // the interruption is noticed
    return handle(run(std::min(delay, p_.listener.on_run(machine))));
  }
  ThreadOutcome outcome = ThreadOutcome::goes_on;
  if (std::optional<PendingSignal> signal = p_.inbox.take(self))
    outcome = p_.delivery.deliver(*signal);
  else if (self.mask_before)
    machine.set_mask(*std::exchange(self.mask_before, std::nullopt));
  // Opens the kernel's mask again where no handler was entered.
  if (outcome == ThreadOutcome::goes_on) machine.set_mask(machine.mask());
  // What has waited together with it comes at the same place: handlers stack up.
  self.delayed = self.pending;
  // A handler is no place to go on searching: where signals come often, there would be nothing else.
  p_.turns.end_search();
  return outcome;
}

// Runs guest code up to the next thing to look at, and deals with what has stopped it.
ThreadOutcome ThreadDriver::run_guest(Turns::State turn) {
  Machine& machine = p_.machine;
  uint64_t executed = machine.engine().executed();
  uint64_t limit = max_instructions_ - executed;
  if (copies_.due(executed)) copies_.make();
  limit = std::min({limit, copies_.next() - executed, p_.listener.on_run(machine)});
  bool alone = machine.threads().size() == 1 && !p_.scheduler.options().chaos;
  if (!alone) limit = std::min(limit, turn == Turns::State::searching ? 1 : p_.turns.left());
  // A signal may find one thread in a fast call only, whoever waits must let the others run, and filters see
  // every call.
  bool fast = alone && !p_.filters.active();
  machine.engine().set_fast_syscall(fast ? fast_syscall_ : engine::FastSyscall{});
  return handle(run(limit));
}

engine::Stop ThreadDriver::run(uint64_t limit) {
  return p_.machine.options().lockstep ? lockstep_.run(limit) : p_.machine.run_guest(limit);
}

ThreadOutcome ThreadDriver::handle(const engine::Stop& stop) {
  switch (stop.reason) {
  case engine::StopReason::system_call:
    return handle_system_call();
  case engine::StopReason::input:
    p_.machine.engine().finish_input(p_.executor.execute_instruction(p_.machine, stop.input));
    return ThreadOutcome::goes_on;
  case engine::StopReason::fault:
    return handle_fault(stop.fault);
  case engine::StopReason::limit:
  case engine::StopReason::interrupted:
    return ThreadOutcome::goes_on;
  case engine::StopReason::address:
  case engine::StopReason::access:
  case engine::StopReason::written:
    break;
  }
  bug("a stop that nobody asked for at {:#x}", p_.machine.registers().rip);
}

ThreadOutcome ThreadDriver::handle_system_call() {
  ThreadOutcome outcome = p_.dispatcher.dispatch();
  if (outcome != ThreadOutcome::goes_on) return outcome;
  Thread& self = p_.machine.current();
  p_.inbox.let_in_again(self);
  // What came during the call comes before it returns: the program relies on it after raise(), sigsuspend()
  // and an unblocking sigprocmask().
  bool waits = self.pending || !self.sent.empty();
  self.delayed = waits && p_.inbox.hold_back(self) != SignalInbox::kHoldBack;
  return outcome;
}

bool ThreadDriver::mends(const engine::Fault& fault) {
  return p_.memory.grow_for(fault) || p_.listener.on_unreachable_memory(p_.machine, fault);
}

ThreadOutcome ThreadDriver::handle_fault(const engine::Fault& fault) {
  if (!mends(fault)) return p_.delivery.deliver(p_.machine.signal_of(fault));
  // One that repeats, or gathers, may have done a part, and replay does it as a whole: no signal comes and no
  // other thread runs before it is done.
  engine::Stop after;
  do
    after = p_.machine.run_guest(1);
  while (after.reason == engine::StopReason::interrupted ||
         (after.reason == engine::StopReason::fault && mends(after.fault)));
  return handle(after);
}

} // namespace rdb::guest
