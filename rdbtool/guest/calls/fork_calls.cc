// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/calls/fork_calls.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/calls/syscall_executor.h"
#include "rdbtool/guest/memory/memory_calls.h"
#include "rdbtool/guest/memory/vfork_memory.h"
#include "rdbtool/guest/process/kernel_mirror.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_end.h"
#include "rdbtool/guest/process/process_listener.h"
#include "rdbtool/guest/signals/block_signals.h"
#include "rdbtool/guest/signals/signal_inbox.h"
#include "rdbtool/guest/threads/affinity.h"
#include "rdbtool/guest/threads/futex_calls.h"
#include "rdbtool/guest/threads/guest_threads.h"
#include "rdbtool/guest/threads/scheduler.h"

#include <cerrno>
#include <csignal>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace rdb::guest {
namespace {

uint64_t flags_of(const SystemCall& call) {
  if (call.number == SYS_clone) return static_cast<uint32_t>(call.arguments[0]);
  return call.number == SYS_vfork ? SIGCHLD | CLONE_VM | CLONE_VFORK : SIGCHLD;
}

} // namespace

bool ForkCalls::can_write_word(GuestAddr to) {
  AddressSpace& space = p_.machine.space();
  uint32_t value;
  return space.read(to, &value, sizeof value) == sizeof value &&
         space.write(to, &value, sizeof value) == sizeof value;
}

int ForkCalls::check_clone(const SyscallArgs& arguments) {
  uint64_t flags = arguments[0];
  auto all = [&](uint64_t these) { return (flags & these) == these; };
  bool bad_sharing = all(CLONE_NEWNS | CLONE_FS) || all(CLONE_NEWUSER | CLONE_FS) ||
                     (flags & CLONE_THREAD && !(flags & CLONE_SIGHAND)) ||
                     (flags & CLONE_SIGHAND && !(flags & CLONE_VM)) ||
                     (flags & CLONE_THREAD && flags & (CLONE_NEWUSER | CLONE_NEWPID));
  // A descriptor and a thread id would go to the same word.
  bool bad_descriptor = flags & CLONE_PIDFD && flags & (CLONE_PARENT_SETTID | CLONE_DETACHED);
  if (bad_sharing || bad_descriptor) return -EINVAL;
  if (flags & CLONE_SETTLS && arguments[4] >= kTaskSize) return -EPERM;
  if (flags & CLONE_PIDFD && !can_write_word(GuestAddr(arguments[2]))) return -EFAULT;
  return 0;
}

int64_t ForkCalls::call(const SystemCall& call) {
  Machine& machine = p_.machine;
  uint64_t flags = flags_of(call);
  uint64_t address = machine.registers().rip - 2;
  if (flags & CLONE_VM && !(flags & CLONE_VFORK))
    limit("a process that shares its parent's memory (clone at {:#x})", address);
  if (flags & CLONE_FILES) limit("a process that shares its parent's descriptors (clone at {:#x})", address);

  // No signal may fall between the two.
  block_asynchronous();
  if (machine.current().pending) {
    p_.listener.on_syscall_exit(machine, call, kNotStarted);
    return kNotStarted; // the mask is opened when the signal has been delivered
  }
  std::unique_ptr<VforkMemory> shared;
  if (flags & CLONE_VM) shared = std::make_unique<VforkMemory>();
  p_.listener.before_fork(machine);
  int word = 0;
  int64_t result = make_process(flags, word);
  VforkMemory* of_child = result > 0 ? shared.get() : nullptr;
  if (result == 0) become_child(flags, std::move(shared));
  p_.listener.after_fork(machine, result);
  p_.executor.deliver(machine, call, answer_to(call, flags, result, word));
  // Now, not before: what comes before the call is the child's, too.
  if (of_child != nullptr) p_.memory.take_from_child(*of_child);
  if (result == 0) machine.begin_child(call);
  machine.set_mask(machine.mask());
  return result;
}

// The child gets a copy of everything, rdb included. What the kernel would write to guest memory comes to
// `word` first.
int64_t ForkCalls::make_process(uint64_t flags, int& word) {
  constexpr uint64_t kOurs =
      CLONE_VM | CLONE_SIGHAND | CLONE_SETTLS | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  // Nobody else may be in the middle of something that the child will need.
  p_.threads.before_fork();
  p_.scheduler.lock();
  int64_t result =
      raw_syscall(SYS_clone, static_cast<int64_t>(flags & ~kOurs), 0, reinterpret_cast<int64_t>(&word), 0, 0);
  p_.scheduler.unlock();
  return result;
}

void ForkCalls::become_child(uint64_t flags, std::unique_ptr<VforkMemory> shared) {
  Machine& machine = p_.machine;
  bool was_init = machine.identity().is_init();
  machine.set_identity({machine.identity().program, getpid()});
  // What a signal without a handler does is another thing for the first process of a PID namespace.
  if (was_init != machine.identity().is_init()) p_.kernel.set_all_actions();
  Thread& self = machine.current();
  p_.affinity.after_fork(self.id);
  SignalInbox::forget_held();
  self.robust_list = {}; // the child has none until it says so
  machine.keep_only_current(ThreadId(getpid()));
  p_.futexes.after_fork();
  p_.threads.after_fork();
  p_.end.after_fork();
  if (!shared) machine.space().after_fork();
  p_.memory.share_with_parent(std::move(shared));
  shares_actions_ = flags & CLONE_SIGHAND;
}

ComputedAnswer ForkCalls::answer_to(const SystemCall& call, uint64_t flags, int64_t result, int word) {
  ComputedAnswer answer{result, {}};
  auto put = [&](GuestAddr to, const int& value) {
    if (!can_write_word(to)) return;
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    answer.writes.push_back({to, {bytes, bytes + sizeof value}});
  };
  if (result == 0 && flags & CLONE_CHILD_SETTID) put(GuestAddr(call.arguments[3]), getpid());
  if (result > 0 && flags & (CLONE_PARENT_SETTID | CLONE_PIDFD)) put(GuestAddr(call.arguments[2]), word);
  return answer;
}

} // namespace rdb::guest
