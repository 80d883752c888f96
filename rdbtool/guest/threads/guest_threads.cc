// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/guest_threads.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/calls/kernel_write.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_end.h"
#include "rdbtool/guest/process/process_listener.h"
#include "rdbtool/guest/signals/signal_inbox.h"
#include "rdbtool/guest/threads/affinity.h"
#include "rdbtool/guest/threads/futex_calls.h"
#include "rdbtool/guest/threads/scheduler.h"
#include "rdbtool/guest/threads/tracing_child.h"
#include "rdbtool/guest/threads/turns.h"

#include <fcntl.h>
#include <memory>
#include <sched.h>
#include <sys/syscall.h>

namespace rdb::guest {

void GuestThreads::adopt_first(Thread& first) {
  SignalInbox::receive_for(&first);
  if (!p_.machine.in_one_thread()) return;
  fibers_.adopt(first);
  p_.scheduler.use_fibers(fibers_, [this] { p_.inbox.open_for_all(); });
}

void GuestThreads::check_flags(uint64_t flags) const {
  if (TracingChildren::is_made_by(flags)) return;
  constexpr uint64_t kShared = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND;
  if ((flags & kShared) != kShared)
    limit("a thread that does not share memory, files and signal actions (clone flags {:#x})", flags);
  constexpr uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET;
  if (flags & kNamespaces) limit("a thread in a namespace of its own (clone flags {:#x})", flags);
  if (flags & CLONE_VFORK) limit("a thread whose maker waits for its end (clone flags {:#x})", flags);
  if (flags & CLONE_PIDFD && p_.machine.in_one_thread())
    limit("a descriptor of a thread (clone flags {:#x})", flags);
}

int64_t GuestThreads::make_host() {
  Machine& machine = p_.machine;
  if (!machine.in_one_thread()) p_.affinity.pin(machine.current().id);
  if (machine.threads().size() == 1) {
    p_.scheduler.begin_chaos();
    // What is left of a turn follows from everything before: how the program was started, where it lies.
    p_.turns.redraw();
  }
  if (machine.in_one_thread()) return machine.identity().pid + static_cast<int64_t>(++fiber_count_);
  return os_threads_.create();
}

Thread& GuestThreads::add(int64_t id, const SyscallArgs& a) {
  Machine& machine = p_.machine;
  Thread& created = machine.add_thread(std::make_unique<Thread>(ThreadId(static_cast<int32_t>(id))));
  created.mask = machine.mask();
  if (!(a[0] & CLONE_THREAD)) created.own_actions = machine.copy_actions();
  p_.affinity.inherit(created.id, machine.current().id);
  created.registers.gpr[engine::RAX] = 0;
  if (a[1] != 0) created.registers.gpr[engine::RSP] = a[1];
  if (a[0] & CLONE_SETTLS) created.registers.fs_base = a[4];
  if (a[0] & CLONE_CHILD_CLEARTID) created.clear_child_tid = GuestAddr(a[3]);
  p_.listener.on_thread_start(machine, created, a[0]);
  return created;
}

int64_t GuestThreads::start(const SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  auto put = [&](uint64_t to, int64_t value) {
    write_word_as_kernel(p_.machine, p_.listener, GuestAddr(to), static_cast<uint32_t>(value));
  };
  check_flags(a[0]);
  int64_t id = make_host();
  if (id < 0) return id;
  if (a[0] & CLONE_PIDFD) {
    constexpr int kOfThread = O_EXCL; // PIDFD_THREAD
    int64_t descriptor = raw_syscall(SYS_pidfd_open, id, kOfThread);
    if (descriptor < 0) limit("a descriptor of a thread (clone flags {:#x})", a[0]);
    put(a[2], descriptor);
  }
  Thread& created = add(id, a);
  if (a[0] & CLONE_PARENT_SETTID) put(a[2], id);
  if (a[0] & CLONE_CHILD_SETTID) put(a[3], id);
  bool in_fiber = p_.machine.in_one_thread();
  if (in_fiber) fibers_.create(created);
  p_.scheduler.make_ready(created);
  if (!in_fiber) os_threads_.assign(created);
  return id;
}

ThreadOutcome GuestThreads::end_current(const SystemCall& call) {
  Machine& machine = p_.machine;
  Thread& self = machine.current();
  int status = static_cast<int>(call.arguments[0]) & 0xFF;
  if (self.id.value == machine.identity().pid) leader_status_ = status;
  p_.listener.on_syscall_exit(machine, call, 0);
  machine.registers().gpr[engine::RAX] = 0; // as replay has it
  p_.futexes.end_thread(self);
  if (machine.threads().size() == 1) {
    p_.end.end({Ending::Kind::exited, leader_status_});
    return ThreadOutcome::process_ended;
  }
  p_.listener.on_thread_end(machine, status);
  p_.listener.on_turn_end(machine);
  // From here on nothing comes in for this thread.
  p_.inbox.close(self);
  // What it held has been released, and the list may be gone when this OS thread ends.
  machine.set_robust_list({});
  OsThreads::finishing();
  p_.affinity.forget(self.id);
  fibers_.forget(self);
  machine.remove_thread(self);
  p_.turns.end();
  return ThreadOutcome::thread_ended;
}

void GuestThreads::leave_last_fiber() {
  fibers_.switch_to_first();
  bug("a thread that is over has been given a turn");
}

void GuestThreads::after_fork() {
  Thread& self = p_.machine.current();
  p_.scheduler.reset(self);
  os_threads_.forget_all();
  if (p_.machine.in_one_thread()) fibers_.keep_only(self);
}

} // namespace rdb::guest
