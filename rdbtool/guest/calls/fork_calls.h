// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// New processes: fork, vfork, and clone without CLONE_THREAD. The kernel copies rdb's whole process, and the
// child goes on under the engine by itself. Natively a child by vfork would share its parent's memory; here
// it has a copy, and its parent gets what the child has changed: see VforkMemory.
#pragma once

#include "rdbtool/guest/calls/computed_answer.h"
#include "rdbtool/guest/calls/system_call.h"

#include <memory>

namespace rdb::guest {

class Affinity;
class FutexCalls;
class GuestThreads;
class KernelMirror;
class Machine;
class MemoryCalls;
class ProcessEnd;
class ProcessListener;
class Scheduler;
class SyscallExecutor;
class VforkMemory;

class ForkCalls {
public:
  // What a live process consists of, as far as a fork needs it.
  struct Parts {
    Machine& machine;
    Scheduler& scheduler;
    GuestThreads& threads;
    FutexCalls& futexes;
    Affinity& affinity;
    MemoryCalls& memory;
    KernelMirror& kernel;
    ProcessEnd& end;
    SyscallExecutor& executor;
    ProcessListener& listener;
  };
  explicit ForkCalls(const Parts& parts) : p_(parts) {}

  // The error that the kernel has for arguments of clone which it is not given as they are, or 0. What it
  // checks when it makes the process is left to it.
  int check_clone(const SyscallArgs& arguments);
  // Makes the process, and delivers the call's result in both.
  int64_t call(const SystemCall& call);
  // The process has its signal actions in common with its parent (CLONE_SIGHAND).
  bool shares_actions() const { return shares_actions_; }

private:
  // The kernel's part: returns the id of the new process, 0 in that process, or -errno.
  int64_t make_process(uint64_t flags, int& word);
  void become_child(uint64_t flags, std::unique_ptr<VforkMemory> shared);
  ComputedAnswer answer_to(const SystemCall& call, uint64_t flags, int64_t result, int word);
  bool can_write_word(GuestAddr to);

  Parts p_;
  bool shares_actions_ = false;
};

} // namespace rdb::guest
