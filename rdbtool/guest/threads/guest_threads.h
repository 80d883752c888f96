// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a guest thread begins (clone with CLONE_THREAD) and ends (exit), and what it runs in: an OS thread of
// its own, or with all threads in one, a fiber. Both run the same loop, ThreadDriver's.
#pragma once

#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/threads/fibers.h"
#include "rdbtool/guest/threads/os_threads.h"
#include "rdbtool/guest/threads/thread_outcome.h"

#include <cstdint>
#include <functional>

namespace rdb::guest {

class Affinity;
class FutexCalls;
class Machine;
class ProcessEnd;
class ProcessListener;
class Scheduler;
class SignalInbox;
class Turns;

class GuestThreads {
public:
  // What a live process consists of, as far as its threads need it.
  struct Parts {
    Machine& machine;
    Scheduler& scheduler;
    Turns& turns;
    SignalInbox& inbox;
    FutexCalls& futexes;
    Affinity& affinity;
    ProcessEnd& end;
    ProcessListener& listener;
  };
  // What runs a thread: see OsThreads and Fibers.
  struct Bodies {
    std::function<void(Thread&)> in_os_thread;
    std::function<void(Thread&)> in_fiber;
  };
  GuestThreads(const Parts& parts, const Bodies& bodies)
      : p_(parts), os_threads_(bodies.in_os_thread), fibers_(bodies.in_fiber) {}

  // The calling OS thread and its stack are the first thread's.
  void adopt_first(Thread& first);
  // Makes a thread as this call says, ready to run. Returns its id, which is the call's result, or -errno.
  int64_t start(const SystemCall& call);
  // The current thread makes this call of exit.
  ThreadOutcome end_current(const SystemCall& call);
  // From the fiber of a thread that is over, back to the stack of main().
  [[noreturn]] void leave_last_fiber();

  // Nobody is in the middle of something that the child of a fork would need.
  void before_fork() { os_threads_.collect(); }
  // In the child of a fork, which has the current thread alone.
  void after_fork();
  // The process is over.
  void join_all() { os_threads_.join_all(); }

private:
  void check_flags(uint64_t flags) const;
  // The id of a new OS thread or fiber, or -errno.
  int64_t make_host();
  Thread& add(int64_t id, const SyscallArgs& arguments);

  Parts p_;
  OsThreads os_threads_;
  Fibers fibers_;
  uint64_t fiber_count_ = 0;
  int leader_status_ = 0; // of the first thread's own exit
};

} // namespace rdb::guest
