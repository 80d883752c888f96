// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop that every guest thread runs in, while it has the baton:
//
//   1. A signal that has been received, if there is one, is delivered (SignalInbox::take, LiveSignals).
//      Handlers stack up: the loop begins again until none is left.
//   2. If the thread's turn is over and others are ready, they have theirs (Turns::pass).
//   3. The engine runs guest code until something stops it: the instructions of the turn are used up, a
//      signal has been received, or the guest needs something.
//   4. What it needs is done: a system call is carried out (SyscallDispatcher), an instruction such as rdtsc
//      is executed by the executor, a fault becomes memory that the guest can reach, or a signal.
//
// So a signal that somebody sends is delivered in the first step only, between two instructions of the guest,
// at a time that the log can name. One that was received during a call is delivered before the guest executes
// anything else: programs rely on that after raise(), sigsuspend() and sigprocmask(). Any other may be
// delayed by some instructions: to leave the program time between two signals of a timer, or at random in a
// chaotic run.
//
// The loop ends with the thread, or by ProcessOver if another thread ends the process. The loop of the first
// thread is called by main(), which goes on when the process is over.
#pragma once

#include "rdbtool/engine/engine.h"
#include "rdbtool/guest/process/lockstep.h"
#include "rdbtool/guest/threads/fork_check.h"
#include "rdbtool/guest/threads/thread_outcome.h"
#include "rdbtool/guest/threads/turns.h"

#include <cstdint>

namespace rdb::guest {

class GuestThreads;
class MemoryCalls;
class ProcessEnd;
class SeccompFilters;
class LiveSignals;
class SyscallDispatcher;
class SyscallExecutor;

class ThreadDriver {
public:
  // What a live process consists of, as far as the loop needs it.
  struct Parts {
    Machine& machine;
    Scheduler& scheduler;
    Turns& turns;
    GuestThreads& threads;
    SignalInbox& inbox;
    LiveSignals& delivery;
    SyscallDispatcher& dispatcher;
    MemoryCalls& memory;
    SeccompFilters& filters;
    ProcessEnd& end;
    SyscallExecutor& executor;
    ProcessListener& listener;
  };
  ThreadDriver(const Parts& parts, uint64_t max_instructions);

  // The first thread of the process. Returns when the process is over.
  void run_first(Thread& self);
  // Every other thread.
  void run_in_os_thread(Thread& self);
  [[noreturn]] void run_in_fiber(Thread& self);

  // Asks the executor for its fast path, to be used from now on.
  void use_fast_path();
  // The run is over: see Copies.
  void check_copies(const Ending& ending) const { copies_.check(ending); }

private:
  ThreadOutcome run_turns(Thread& self);
  ThreadOutcome take_signal(Thread& self);
  ThreadOutcome run_guest(Turns::State turn);
  engine::Stop run(uint64_t limit);
  ThreadOutcome handle(const engine::Stop& stop);
  ThreadOutcome handle_system_call();
  ThreadOutcome handle_fault(const engine::Fault& fault);
  bool mends(const engine::Fault& fault);

  Parts p_;
  uint64_t max_instructions_;
  engine::FastSyscall fast_syscall_;
  Lockstep lockstep_;
  Copies copies_;
};

} // namespace rdb::guest
