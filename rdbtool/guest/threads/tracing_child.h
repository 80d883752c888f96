// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A child process that shares its parent's memory, runs beside it, and traces its threads: LeakSanitizer
// looks at a program in this way when it ends.
//
// The problem: rdb would have to run one address space in two processes of the kernel's, and both would
// translate, count and log. ptrace is refused otherwise, since a tracer would see rdb and not the program.
//
// The trick: all that such a child is to the program, rdb can say by itself. Here it is one more guest thread
// with a number of its own. What sets it apart is little: exit_group ends it alone, it has its own signal
// actions, its parent waits for it with wait4, and the threads that it traces get no turn. Their registers
// are in rdb's hands anyway. In a replay it is a thread like others, and what its calls have found is in the
// log.
#pragma once

#include "rdbtool/guest/calls/computed_answer.h"
#include "rdbtool/guest/calls/system_call.h"
#include "rdbtool/guest/threads/thread.h"
#include "rdbtool/guest/threads/thread_outcome.h"

#include <cstdint>
#include <map>
#include <optional>

namespace rdb::guest {

class GuestThreads;
class Machine;
class ProcessListener;
class Scheduler;
class SignalInbox;
class SyscallExecutor;
class Turns;

class TracingChildren {
public:
  // What a live process consists of, as far as these children need it.
  struct Parts {
    Machine& machine;
    Scheduler& scheduler;
    Turns& turns;
    GuestThreads& threads;
    SignalInbox& inbox;
    SyscallExecutor& executor;
    ProcessListener& listener;
  };
  explicit TracingChildren(const Parts& parts) : p_(parts) {}

  // Whether a clone with these flags makes such a child.
  static bool is_made_by(uint64_t flags);
  // Makes one, as this call of clone says. Its number, or -errno.
  int64_t start(const SystemCall& call);

  // Whether there is one, or was and nobody has waited for it yet. If not, nothing below has anything to say.
  bool any() const { return !children_.empty(); }
  // Carries out a call that one of them has made, or that is about one, if it differs from a thread's call.
  std::optional<int64_t> call(const SystemCall& call);
  // The current thread is such a child, and makes a call that ends it.
  bool ends_by(const SystemCall& call) const;
  ThreadOutcome end(const SystemCall& call);

private:
  struct Child {
    std::optional<int> status; // of its end
    Thread* waiting = nullptr; // its parent's thread
  };
  std::optional<ComputedAnswer> answer_of_child(const SystemCall& call);
  ComputedAnswer trace(const SystemCall& call);
  ComputedAnswer attach(Thread* thread);
  ComputedAnswer let_go(Thread& thread);
  ComputedAnswer registers_of(Thread& thread, const SystemCall& call);
  ComputedAnswer register_set_of(Thread& thread, const SystemCall& call);
  ComputedAnswer word_at(GuestAddr from, GuestAddr to);
  ComputedAnswer wait_for_stop(const SystemCall& call);
  std::optional<ComputedAnswer> wait_for_child(const SystemCall& call);

  Parts p_;
  std::map<int32_t, Child> children_; // by number
};

} // namespace rdb::guest
