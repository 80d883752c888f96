// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which CPUs the guest's threads may use. While threads take turns they share one CPU: a hand-over there
// costs a tenth of one between two. What the guest asks for and is told is kept here instead.
#pragma once

#include "rdbtool/guest/calls/computed_answer.h"
#include "rdbtool/guest/calls/system_call.h"

#include <map>
#include <optional>
#include <sched.h>

namespace rdb::guest {

class Machine;

class Affinity {
public:
  // A second thread is about to start: from now on all run where the caller runs.
  void pin(ThreadId self);
  // The caller runs alone again, or is about to become another program.
  void unpin(ThreadId self);
  // A new thread has its maker's CPUs.
  void inherit(ThreadId created, ThreadId maker);
  void forget(ThreadId thread) { wanted_.erase(thread); }
  // In the child of a fork, which runs alone; the thread had this number in its parent.
  void after_fork(ThreadId number_before);

  // While pinned: answers what is about threads of this machine.
  std::optional<ComputedAnswer> answer(Machine& machine, const SystemCall& call);

private:
  std::optional<ComputedAnswer> get(Machine& machine, const SyscallArgs& arguments);
  std::optional<ComputedAnswer> set(Machine& machine, const SyscallArgs& arguments);
  std::optional<ComputedAnswer> current_cpu(Machine& machine, const SyscallArgs& arguments);
  const cpu_set_t& wanted(ThreadId thread) const;

  bool pinned_ = false;
  cpu_set_t before_ = {};                // what was allowed when the process was pinned
  std::map<ThreadId, cpu_set_t> wanted_; // of threads whose set is another
};

} // namespace rdb::guest
