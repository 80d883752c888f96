// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What becomes of a system call that a live guest has made. dispatch() is where every call begins that does
// not take the fast path:
//
//   1. The listener hears of it.
//   2. The guest's own seccomp filters judge it.
//   3. If a signal is pending, it comes first: the call is not begun, and the guest makes it again after the
//      signal. Calls that change the mask block all signals before this look, since a signal between the look
//      and the change would be delivered under the wrong mask.
//   4. The call goes to whoever is in charge of it: a part of rdb that carries it out (threads, futexes, fork
//      and exec, memory, signal state), one that computes an answer so that the host stays hidden
//      (HiddenHost, Affinity, SeccompFilters), or else the executor.
//   5. Its result goes into rax. If it is kNotStarted, a signal has come first after all: see 3.
#pragma once

#include "rdbtool/guest/calls/computed_answer.h"
#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/threads/thread_outcome.h"

#include <cstdint>
#include <optional>

namespace rdb::guest {

class Affinity;
class Baton;
class ExecCalls;
class ForkCalls;
class FutexCalls;
class GuestThreads;
class HiddenHost;
class Machine;
class MemoryCalls;
class ProcessEnd;
class ProcessListener;
class Refusals;
class SeccompFilters;
class LiveSignals;
class SignalInbox;
class SyscallExecutor;
class TracingChildren;
class Turns;
struct Thread;

class SyscallDispatcher {
public:
  // What a live process consists of, as far as its calls need it.
  struct Parts {
    Machine& machine;
    Baton& baton;
    Turns& turns;
    GuestThreads& threads;
    TracingChildren& tracing;
    FutexCalls& futexes;
    MemoryCalls& memory;
    ForkCalls& fork;
    ExecCalls& exec;
    SignalInbox& inbox;
    LiveSignals& delivery;
    HiddenHost& hidden_host;
    Affinity& affinity;
    SeccompFilters& filters;
    Refusals& refusals;
    ProcessEnd& end;
    SyscallExecutor& executor;
    ProcessListener& listener;
  };
  explicit SyscallDispatcher(const Parts& parts) : p_(parts) {}

  // Carries out the call that the current thread has just made.
  ThreadOutcome dispatch();

private:
  // What the guest's own filter says; nothing: the call is allowed.
  std::optional<ThreadOutcome> filter(const SystemCall& call);
  ThreadOutcome return_from_signal(const SystemCall& call);
  ThreadOutcome put_result(const SystemCall& call, int64_t result);

  // Each of these gives the call's result.
  int64_t wait_with_mask(const SystemCall& call, ThreadOutcome& outcome);
  int64_t carry_out(const SystemCall& call, ThreadOutcome& outcome);
  int64_t exit_group(const SystemCall& call, ThreadOutcome& outcome);
  int64_t clone(const SystemCall& call);
  int64_t set_action(const SystemCall& call);
  int64_t answer_or_execute(SystemCall call, CallShape shape);
  int64_t execute(const SystemCall& call, const CallShape& shape);
  // The call is over, without the executor.
  int64_t finish(const SystemCall& call, int64_t result);

  // The mask with which a call waits, if it has one.
  std::optional<uint64_t> mask_of(const SystemCall& call);
  // The host may put another path in place of the call's.
  std::optional<ComputedAnswer> computed_answer(SystemCall& call);

  Parts p_;
};

} // namespace rdb::guest
