// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One live guest process: a machine that runs against the real kernel. This is where its parts are put
// together; what each of them does stands in a file of its own:
//
//   ThreadDriver       the loop of each thread: signals, turns, guest code
//   GuestThreads       how threads begin and end
//   Turns, Baton       who runs; the baton is given away around calls that block
//   SignalInbox        signals that have been received
//   LiveSignals     where they reach the guest
//   SyscallDispatcher  who is in charge of a system call
//   FutexCalls, MemoryCalls, ForkCalls, ExecCalls   calls that rdb carries out by itself
//   HiddenHost, Affinity, SeccompFilters            calls that it answers
//   ProcessEnd         how all of this ends
//
// Two interfaces connect it with the world. The SyscallExecutor makes the other calls; the ProcessListener
// hears what happens. The recorder is both.
#pragma once

#include "rdbtool/guest/calls/exec_calls.h"
#include "rdbtool/guest/calls/fork_calls.h"
#include "rdbtool/guest/calls/refused_calls.h"
#include "rdbtool/guest/calls/seccomp_filter.h"
#include "rdbtool/guest/calls/syscall_dispatcher.h"
#include "rdbtool/guest/calls/syscall_executor.h"
#include "rdbtool/guest/host/guest_limits.h"
#include "rdbtool/guest/host/hidden_host.h"
#include "rdbtool/guest/memory/memory_calls.h"
#include "rdbtool/guest/process/kernel_mirror.h"
#include "rdbtool/guest/process/loaded_program.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_end.h"
#include "rdbtool/guest/process/process_listener.h"
#include "rdbtool/guest/process/process_options.h"
#include "rdbtool/guest/signals/live_signals.h"
#include "rdbtool/guest/signals/signal_inbox.h"
#include "rdbtool/guest/threads/affinity.h"
#include "rdbtool/guest/threads/baton.h"
#include "rdbtool/guest/threads/futex_calls.h"
#include "rdbtool/guest/threads/guest_threads.h"
#include "rdbtool/guest/threads/one_thread_calls.h"
#include "rdbtool/guest/threads/scheduler.h"
#include "rdbtool/guest/threads/thread_driver.h"
#include "rdbtool/guest/threads/tracing_child.h"
#include "rdbtool/guest/threads/turns.h"

namespace rdb::guest {

class Process {
public:
  // Loads the program.
  Process(const ProcessOptions& options, SyscallExecutor& executor, ProcessListener& listener);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Runs it to its end.
  Ending run();

  Machine& machine() { return machine_; }

private:
  void inherit(const Inherited& inherited);
  void take_over_signals();

  ProcessOptions options_;
  ProcessListener& listener_;
  Machine machine_;
  Scheduler scheduler_;
  LoadedProgram program_;
  GuestLimits limits_;
  Refusals refusals_;
  SeccompFilters filters_;
  Affinity affinity_;
  HiddenHost hidden_host_;
  MemoryCalls memory_;
  SignalInbox inbox_;
  KernelMirror kernel_;
  Turns turns_;
  OneThreadCalls one_thread_;
  Baton baton_;
  FutexCalls futexes_;
  ProcessEnd end_;
  LiveSignals delivery_;
  GuestThreads threads_;
  ForkCalls fork_;
  ExecCalls exec_;
  TracingChildren tracing_;
  SyscallDispatcher dispatcher_;
  ThreadDriver driver_;
};

} // namespace rdb::guest
