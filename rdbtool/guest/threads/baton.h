// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the executor of a system call gets to make it with. A guest thread runs, and its calls are made, while
// it holds the baton; a call that blocks with the baton would stop all other threads, and perhaps the one
// that it waits for. So around such a call the executor gives the baton away:
//
//   During::kept         the call is made, nobody else runs meanwhile
//   During::given_away   the thread's turn ends, others run, the call is made; when it is over the thread
//                        waits for the baton, and its next turn begins
//
// The end of the turn is the executor's own doing here, and no listener is told: what has to be done before
// others run, the executor does before it calls this. When it has the baton back, everything may be different
// that other threads can change: memory, mappings, descriptors, the number of threads.
//
// If all guest threads live in one OS thread, a call that blocks is not made at all but tried again and again
// (OneThreadCalls), and `During` does not count.
#pragma once

#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/threads/thread.h"

namespace rdb::guest {

class Machine;
class OneThreadCalls;
class Scheduler;
class SignalInbox;
class Turns;

class Baton {
public:
  Baton(Machine& machine, const Scheduler& scheduler, Turns& turns, SignalInbox& inbox,
        OneThreadCalls& one_thread)
      : machine_(machine), scheduler_(scheduler), turns_(turns), inbox_(inbox), one_thread_(one_thread) {}

  enum class During : uint8_t { kept, given_away };

  // Whether a call can keep the baton: nobody else is there, or it is over at once although some of its kind
  // block.
  During best_for(const CallShape& shape, const SyscallArgs& arguments) const;
  // Makes the call in the kernel, for the current thread. kNotStarted if a signal must be delivered first.
  int64_t call_kernel(const CallShape& shape, const SyscallArgs& arguments, During baton);

  // Gives the baton away until another thread calls resume() for this one. Returns 0 then. If a signal comes
  // first, returns the result of the call that it interrupts.
  int64_t rest();
  void resume(Thread& thread);
  // The process is ending around its threads, which all leave by ProcessOver.
  bool is_process_over() const;

private:
  Machine& machine_;
  const Scheduler& scheduler_;
  Turns& turns_;
  SignalInbox& inbox_;
  OneThreadCalls& one_thread_;
};

} // namespace rdb::guest
