// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The calls futex and futex_waitv of a live process. rdb carries them out by itself (Futexes), so that their
// outcome follows from the order of turns; here is what they need from the process around them, and the wait
// of the thread that they put to sleep. Only words in memory which other processes see are the kernel's.
#pragma once

#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/threads/futex.h"

namespace rdb::guest {

class Machine;
class ProcessListener;
class Scheduler;
class SignalInbox;
class Turns;

class FutexCalls final : private FutexHost {
public:
  FutexCalls(Machine& machine, Scheduler& scheduler, Turns& turns, SignalInbox& inbox,
             ProcessListener& listener);

  // Whether the kernel has to make the call.
  bool is_for_kernel(const SystemCall& call);
  // The result of any other one, for which the thread may have waited.
  int64_t call(const SystemCall& call);

  // The thread ends: gives up its locks, clears the word that others may wait for (CLONE_CHILD_CLEARTID).
  void end_thread(Thread& self);
  // The process or its program ends: gives up what its threads hold of locks that other processes wait for.
  void release_shared();
  // In the child of a fork, nobody waits.
  void after_fork() { futexes_.clear(); }

private:
  int64_t wait(const FutexOutcome& outcome, bool always_restarts);
  bool read_memory(GuestAddr from, void* to, size_t size) override;
  bool write_word(GuestAddr to, uint32_t value) override;
  WordAccess access_to(GuestAddr word) override;
  bool has_thread(ThreadId id) override;
  int64_t try_lock_of_stranger(ThreadId owner, int operation) override;
  void wake(Thread& thread, int64_t result) override;
  bool is_shared(GuestAddr word) override;
  void wake_in_kernel(GuestAddr word) override;
  size_t choose_waiter(size_t count) override;

  Machine& machine_;
  Scheduler& scheduler_;
  Turns& turns_;
  SignalInbox& inbox_;
  ProcessListener& listener_;
  Futexes futexes_;
};

} // namespace rdb::guest
