// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/tracing_child.h"

#include "rdbtool/base/error.h"
#include "rdbtool/guest/calls/syscall_executor.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_listener.h"
#include "rdbtool/guest/signals/signal_inbox.h"
#include "rdbtool/guest/threads/guest_threads.h"
#include "rdbtool/guest/threads/scheduler.h"
#include "rdbtool/guest/threads/turns.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <elf.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

namespace rdb::guest {
namespace {

template <class T>
ComputedAnswer::Write written(uint64_t to, const T& value, size_t size = sizeof(T)) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  return {GuestAddr(to), {bytes, bytes + size}};
}

// As a tracer gets them.
user_regs_struct registers_for_tracer(const engine::Registers& from) {
  constexpr uint64_t kUserCode = 0x33, kUserData = 0x2B;
  using namespace engine;
  user_regs_struct to{};
  to.rax = from.gpr[RAX], to.rbx = from.gpr[RBX], to.rcx = from.gpr[RCX], to.rdx = from.gpr[RDX];
  to.rsi = from.gpr[RSI], to.rdi = from.gpr[RDI], to.rbp = from.gpr[RBP], to.rsp = from.gpr[RSP];
  to.r8 = from.gpr[R8], to.r9 = from.gpr[R9], to.r10 = from.gpr[R10], to.r11 = from.gpr[R11];
  to.r12 = from.gpr[R12], to.r13 = from.gpr[R13], to.r14 = from.gpr[R14], to.r15 = from.gpr[R15];
  to.rip = from.rip;
  to.eflags = from.flags();
  to.orig_rax = ~0ull;
  to.cs = kUserCode;
  to.ss = kUserData;
  to.fs_base = from.fs_base;
  to.gs_base = from.gs_base;
  return to;
}

int stop_status() {
  return SIGSTOP << 8 | 0x7F;
}

} // namespace

bool TracingChildren::is_made_by(uint64_t flags) {
  constexpr uint64_t kNeeded = CLONE_VM | CLONE_FS | CLONE_FILES;
  constexpr uint64_t kAllowed = kNeeded | CLONE_UNTRACED | CLONE_SETTLS | CLONE_PARENT_SETTID |
                                CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  return (flags & kNeeded) == kNeeded && (flags & ~kAllowed) == 0; // no signal when it ends, either
}

int64_t TracingChildren::start(const SystemCall& call) {
  if (p_.machine.in_one_thread())
    limit("a process that shares its parent's memory, where all threads live in one ('--one-thread')");
  const int64_t id = p_.threads.start(call);
  if (id > 0) children_[static_cast<int32_t>(id)] = {};
  return id;
}

bool TracingChildren::ends_by(const SystemCall& call) const {
  return p_.machine.current().own_actions != nullptr &&
         (call.number == SYS_exit || call.number == SYS_exit_group);
}

ThreadOutcome TracingChildren::end(const SystemCall& call) {
  // The kernel lets go what a tracer leaves behind.
  for (const auto& [id, thread] : p_.machine.threads())
    if (thread->traced) let_go(*thread);
  Child& child = children_.at(p_.machine.current().id.value);
  child.status = (static_cast<int>(call.arguments[0]) & 0xFF) << 8;
  if (child.waiting != nullptr) p_.turns.wake(*child.waiting, 0);
  return p_.threads.end_current(call);
}

std::optional<int64_t> TracingChildren::call(const SystemCall& call) {
  const bool is_child = p_.machine.current().own_actions != nullptr;
  std::optional<ComputedAnswer> answer;
  if (is_child)
    answer = answer_of_child(call);
  else if (call.number == SYS_wait4)
    answer = wait_for_child(call);
  if (!answer) return std::nullopt;
  if (answer->result != kNotStarted) return p_.executor.deliver(p_.machine, call, *answer);
  p_.listener.on_syscall_exit(p_.machine, call, kNotStarted);
  return kNotStarted;
}

std::optional<ComputedAnswer> TracingChildren::answer_of_child(const SystemCall& call) {
  switch (call.number) {
  case SYS_getpid:
    return ComputedAnswer{p_.machine.current().id.value, {}};
  case SYS_getppid:
    return ComputedAnswer{p_.machine.identity().pid, {}};
  case SYS_prctl:
    // It ends when its parent does, since both are one process.
    if (static_cast<int>(call.arguments[0]) == PR_SET_PDEATHSIG) return ComputedAnswer{0, {}};
    return std::nullopt;
  case SYS_ptrace:
    return trace(call);
  case SYS_wait4:
    return wait_for_stop(call);
  case SYS_execve:
  case SYS_execveat:
  case SYS_fork:
  case SYS_vfork:
  case SYS_clone:
    limit("a process that shares its parent's memory and makes another one, or runs another program");
  default:
    return std::nullopt;
  }
}

ComputedAnswer TracingChildren::trace(const SystemCall& call) {
  Thread* thread = p_.machine.find_thread(ThreadId(static_cast<int32_t>(call.arguments[1])));
  const auto request = static_cast<int>(call.arguments[0]);
  if (request == PTRACE_ATTACH) return attach(thread);
  if (thread == nullptr || !thread->traced) return {-ESRCH, {}};
  switch (request) {
  case PTRACE_DETACH:
  case PTRACE_CONT:
    return let_go(*thread);
  case PTRACE_GETREGS:
  case PTRACE_GETFPREGS:
    return registers_of(*thread, call);
  case PTRACE_GETREGSET:
    return register_set_of(*thread, call);
  case PTRACE_PEEKTEXT:
  case PTRACE_PEEKDATA:
    return word_at(GuestAddr(call.arguments[2]), GuestAddr(call.arguments[3]));
  default:
    limit("request {} of ptrace by a process that shares its parent's memory", request);
  }
}

ComputedAnswer TracingChildren::attach(Thread* thread) {
  if (thread == nullptr) return {-ESRCH, {}};
  // Itself, another such child, or one that is traced already.
  if (thread->own_actions != nullptr || thread->traced) return {-EPERM, {}};
  p_.scheduler.hold(*thread);
  thread->traced = true;
  thread->stop_is_news = true;
  return {0, {}};
}

ComputedAnswer TracingChildren::let_go(Thread& thread) {
  thread.traced = false;
  p_.scheduler.let_go(thread);
  return {0, {}};
}

ComputedAnswer TracingChildren::registers_of(Thread& thread, const SystemCall& call) {
  constexpr size_t kLegacy = 512; // what FXSAVE stores
  if (static_cast<int>(call.arguments[0]) == PTRACE_GETREGS)
    return {0, {written(call.arguments[3], registers_for_tracer(thread.registers))}};
  if (thread.vectors.size() < kLegacy) return {-EIO, {}};
  return {0, {{GuestAddr(call.arguments[3]), {thread.vectors.begin(), thread.vectors.begin() + kLegacy}}}};
}

// PTRACE_GETREGSET gives as much as there is room for, and says how much that is.
ComputedAnswer TracingChildren::register_set_of(Thread& thread, const SystemCall& call) {
  iovec room{};
  if (p_.machine.space().read(GuestAddr(call.arguments[3]), &room, sizeof room) != sizeof room)
    return {-EFAULT, {}};
  std::vector<std::byte> bytes;
  switch (call.arguments[2]) {
  case NT_PRSTATUS: {
    const user_regs_struct registers = registers_for_tracer(thread.registers);
    const auto* begin = reinterpret_cast<const std::byte*>(&registers);
    bytes.assign(begin, begin + sizeof registers);
    break;
  }
  case NT_PRFPREG:
    bytes.assign(thread.vectors.begin(),
                 thread.vectors.begin() + std::min<ptrdiff_t>(512, std::ssize(thread.vectors)));
    break;
  case NT_X86_XSTATE:
    bytes = thread.vectors;
    break;
  default:
    return {-EINVAL, {}};
  }
  bytes.resize(std::min(bytes.size(), room.iov_len));
  const auto to = reinterpret_cast<uint64_t>(room.iov_base);
  room.iov_len = bytes.size();
  return {0, {{GuestAddr(to), bytes}, written(call.arguments[3], room)}};
}

ComputedAnswer TracingChildren::word_at(GuestAddr from, GuestAddr to) {
  uint64_t word;
  if (p_.machine.space().peek(from, &word, sizeof word) != sizeof word) return {-EIO, {}};
  return {0, {written(to.value, word)}};
}

// The child waits for a thread that it has stopped. That has stopped at once: it has no turn.
ComputedAnswer TracingChildren::wait_for_stop(const SystemCall& call) {
  Thread* thread = p_.machine.find_thread(ThreadId(static_cast<int32_t>(call.arguments[0])));
  if (thread == nullptr || !thread->traced) return {-ECHILD, {}};
  if (!thread->stop_is_news) {
    if (call.arguments[2] & WNOHANG) return {0, {}};
    limit("a process that shares its parent's memory waits for thread {}, which it has stopped before",
          thread->id.value);
  }
  thread->stop_is_news = false;
  ComputedAnswer answer{thread->id.value, {}};
  if (call.arguments[1] != 0) answer.writes.push_back(written(call.arguments[1], stop_status()));
  if (call.arguments[3] != 0) answer.writes.push_back(written(call.arguments[3], rusage{}));
  return answer;
}

std::optional<ComputedAnswer> TracingChildren::wait_for_child(const SystemCall& call) {
  const auto id = static_cast<int32_t>(call.arguments[0]);
  auto found = children_.find(id);
  if (found == children_.end()) return std::nullopt;
  // Its end sends no signal, so that only those see it who ask for such children.
  if (!(call.arguments[2] & (__WALL | __WCLONE))) return ComputedAnswer{-ECHILD, {}};
  if (!found->second.status) {
    if (call.arguments[2] & WNOHANG) return ComputedAnswer{0, {}};
    if (found->second.waiting != nullptr)
      limit("two threads that wait for one process that shares their memory");
    Thread& self = p_.machine.current();
    found->second.waiting = &self;
    p_.turns.sleep(CLOCK_MONOTONIC, std::nullopt);
    if (!self.woken) {
      found->second.waiting = nullptr;
      return ComputedAnswer{p_.inbox.interrupted_result(true), {}};
    }
  }
  ComputedAnswer answer{id, {}};
  if (call.arguments[1] != 0) answer.writes.push_back(written(call.arguments[1], *found->second.status));
  if (call.arguments[3] != 0) answer.writes.push_back(written(call.arguments[3], rusage{}));
  children_.erase(found);
  return answer;
}

} // namespace rdb::guest
