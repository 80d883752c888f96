// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The threads of a live process and their turns. Each thread runs the same loop while it has the baton, in an
// OS thread of its own or, with all threads in one, as a fiber; it gives the baton away when its turn is
// over, and around every call that may block.
#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/memory/vfork_memory.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/guest/process/process.h"
#include "rdbtool/guest/signals/block_signals.h"
#include "rdbtool/guest/signals/call_alarm.h"
#include "rdbtool/guest/threads/shared_access.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::guest {

thread_local Thread* Process::self_ = nullptr;
constinit thread_local HeldSignals Process::held_;

void Process::begin_turn(Thread& self) {
  if (&self != loaded()) load(self);
  if (threads().size() == 1) affinity_.unpin(self.id);
  translator().adopt_host_thread();
  // For handlers that come before the engine has noted it: the one there is of the thread before.
  asm volatile("rdfsbase %0" : "=r"(translator().state().host_fs));
  if (in_one_thread() && threads().size() > 1) {
    self_ = &self;
    if (self.pending)
      block_asynchronous();
    else
      on_mask(self.mask);
  }
  draw_turn();
}

void Process::draw_turn() {
  turn_end_ = engine().executed() + scheduler_.turn_length();
  search_left_ = scheduler_.search_length();
}

// The turn is over, but may last one instruction more in search of a place where the end of it matters.
bool Process::searches_on() {
  if (search_left_ == 0) return false;
  --search_left_;
  if (!touches_shared_memory(registers(), space())) return true;
  if (!scheduler_.ends_turn_at(registers().rip)) return true;
  // Before the access, or after.
  search_left_ = 0;
  return scheduler_.choose(2) == 1;
}

void Process::leave_turn() {
  outside_.turn_ended(*this);
  save_current();
  scheduler_.release();
}

void Process::yield() {
  Thread& self = current();
  outside_.turn_ended(*this);
  save_current();
  scheduler_.pass(self);
  begin_turn(self);
}

// In a catch block: what was thrown ends the process, and whoever runs it gets it.
void Process::fail() {
  try {
    throw;
  } catch (const std::exception& error) {
    outside_.failed(*this, failure_text(error));
  } catch (...) {
    // Not for the user: the host's own way out.
  }
  if (!failure_) failure_ = std::current_exception();
  end_process({Ending::Kind::stopped, 0});
}

// The first thread of the process: returns when the process has ended.
void Process::run_thread(Thread& self) {
  self_ = &self;
  if (in_one_thread()) {
    fibers_.adopt(self);
    scheduler_.use_fibers(fibers_, [this] { open_masks(); });
  }
  scheduler_.acquire(self);
  begin_turn(self);
  try {
    run_turns(self);
  } catch (const ProcessOver&) {
    // Another thread has ended the process.
  } catch (...) {
    fail();
  }
  while (in_one_thread() && over_.load() == 0)
    scheduler_.leave();
  self_ = nullptr;
  while (over_.load() == 0)
    raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&over_), FUTEX_WAIT_PRIVATE, 0);
  os_threads_.join_all();
  // Nothing comes in any more: nobody is left to take it.
  block_asynchronous();
}

void Process::body_of_fiber(Thread& self) {
  try {
    scheduler_.acquire(self);
    begin_turn(self);
    run_turns(self);
  } catch (...) {
    fail();
  }
  if (over_.load() == 0) scheduler_.leave();
  fibers_.switch_to_first();
  bug("a thread that is over has been given a turn");
}

// Every other thread.
void Process::body_of_os_thread(Thread& self) {
  self_ = &self;
  try {
    scheduler_.acquire(self);
    begin_turn(self);
    on_mask(self.mask);
    run_turns(self);
  } catch (const ProcessOver&) {
    return;
  } catch (...) {
    fail();
  }
  if (over_.load() != 0 && orphan_) end_orphan();
}

Process::Next Process::run_turns(Thread& self) {
  Next next = Next::go_on;
  while (next == Next::go_on) {
    if (!self.sent.empty()) take_sent(self);
    if (self.pending) {
      uint64_t delay = std::max(scheduler_.signal_delay(), hold_back(self));
      if (delay != 0 && !self.delayed) {
        self.delayed = true;
        engine().run(0); // the interruption is noticed
        delay = std::min(delay, outside_.stretch(*this));
        next = handle(options().lockstep ? lockstep_.run(delay) : run_guest(delay));
        continue;
      }
      if (std::optional<PendingSignal> signal = take_pending(self))
        next = give(*signal);
      else if (self.mask_before)
        set_mask(*std::exchange(self.mask_before, std::nullopt));
      if (next == Next::go_on) set_mask(mask()); // opens the kernel's mask again where no handler was entered
      // What has waited together with it comes at the same place: handlers stack up.
      self.delayed = self.pending;
      // A handler is no place to go on searching: where signals come often, there would be nothing else.
      if (engine().executed() >= turn_end_) search_left_ = 0;
      continue;
    }
    uint64_t executed = engine().executed();
    if (executed >= process_options_.max_instructions) {
      end_process({Ending::Kind::stopped, 0});
      return Next::ended;
    }
    bool searching = false;
    if (executed >= turn_end_ || scheduler_.cut_short()) {
      if (in_one_thread()) scheduler_.stir_waiters();
      if (!scheduler_.others_ready()) {
        turn_end_ = executed + scheduler_.turn_length();
      } else if (searching = searches_on(); !searching) {
        yield();
        continue;
      }
    }
    uint64_t limit = process_options_.max_instructions - executed;
    if (copies_.due(executed)) copies_.make();
    limit = std::min({limit, copies_.next() - executed, outside_.stretch(*this)});
    bool alone = threads().size() == 1 && !scheduler_.options().chaos;
    if (!alone) limit = std::min(limit, searching ? 1 : turn_end_ - executed);
    // A signal may find one thread in a fast call only, whoever waits must let the others run, and filters
    // see every call.
    engine().set_fast_syscall(alone && !seccomp_.active() ? fast_syscall_ : engine::FastSyscall{});
    next = handle(options().lockstep ? lockstep_.run(limit) : run_guest(limit));
  }
  return next;
}

// The process or its program ends: what its threads hold of locks that other processes wait for.
void Process::release_shared_locks() {
  for (const auto& [id, thread] : threads())
    futexes_.release_shared(*thread);
}

void Process::end_process(const Ending& ending) {
  ending_ = ending;
  if (ending.kind != Ending::Kind::stopped) release_shared_locks();
  if (vfork_parent_) vfork_parent_->hand_back(space());
  if (ending.kind != Ending::Kind::stopped) outside_.ended(*this, ending);
  scheduler_.end_process();
  for (const auto& [id, thread] : threads()) {
    if (thread.get() == self_ || in_one_thread()) continue;
    scheduler_.expel(*thread);
    // Out of a call in the kernel. This signal is never blocked.
    raw_syscall(SYS_tgkill, getpid(), id.value, SIGSYS);
  }
  over_ = 1;
  raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&over_), FUTEX_WAKE_PRIVATE, 1);
}

// A forked child whose only OS thread is not the one that main() runs in: it ends here.
void Process::end_orphan() {
  if (!failure_) end_as(ending_);
  try {
    std::rethrow_exception(failure_);
  } catch (const std::exception& error) {
    print_error("rdb: {}\n", failure_text(error));
  }
  std::fflush(nullptr);
  raw_syscall(SYS_exit_group, kExitFailure);
  __builtin_unreachable();
}

int64_t Process::start_thread(const SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  constexpr uint64_t kShared = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND;
  if ((a[0] & kShared) != kShared)
    limit("a thread that does not share memory, files and signal actions (clone flags {:#x})", a[0]);
  constexpr uint64_t kNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET;
  if (a[0] & kNamespaces) limit("a thread in a namespace of its own (clone flags {:#x})", a[0]);
  if (a[0] & CLONE_VFORK) limit("a thread whose maker waits for its end (clone flags {:#x})", a[0]);
  if (a[0] & CLONE_PIDFD && in_one_thread()) limit("a descriptor of a thread (clone flags {:#x})", a[0]);
  if (!in_one_thread()) affinity_.pin(current().id);
  if (threads().size() == 1) {
    scheduler_.begin_chaos();
    // What is left of a turn follows from everything before: how the program was started, where it lies.
    draw_turn();
  }
  int64_t number =
      in_one_thread() ? identity().pid + static_cast<int64_t>(++fiber_count_) : os_threads_.create();
  if (number < 0) return number;
  if (a[0] & CLONE_PIDFD) {
    constexpr int kOfThread = O_EXCL; // PIDFD_THREAD
    int64_t descriptor = raw_syscall(SYS_pidfd_open, number, kOfThread);
    if (descriptor < 0) limit("a descriptor of a thread (clone flags {:#x})", a[0]);
    write_word(GuestAddr(a[2]), static_cast<uint32_t>(descriptor));
  }
  Thread& created = add_thread(std::make_unique<Thread>(ThreadId(static_cast<int32_t>(number))));
  created.mask = mask();
  affinity_.inherit(created.id, current().id);
  created.registers.gpr[engine::RAX] = 0;
  if (a[1] != 0) created.registers.gpr[engine::RSP] = a[1];
  if (a[0] & CLONE_SETTLS) created.registers.fs_base = a[4];
  if (a[0] & CLONE_CHILD_CLEARTID) created.clear_child_tid = GuestAddr(a[3]);
  outside_.thread_started(*this, created, a[0]);
  if (a[0] & CLONE_PARENT_SETTID) write_word(GuestAddr(a[2]), static_cast<uint32_t>(number));
  if (a[0] & CLONE_CHILD_SETTID) write_word(GuestAddr(a[3]), static_cast<uint32_t>(number));
  if (in_one_thread()) fibers_.create(created);
  scheduler_.make_ready(created);
  if (!in_one_thread()) os_threads_.assign(created);
  return number;
}

Process::Next Process::end_thread(const SystemCall& call) {
  Thread& self = current();
  int status = static_cast<int>(call.arguments[0]) & 0xFF;
  if (self.id.value == identity().pid) leader_status_ = status;
  outside_.called(*this, call, 0);
  registers().gpr[engine::RAX] = 0; // as replay has it
  futexes_.release_held(self);
  if (self.clear_child_tid.value != 0) {
    write_word(self.clear_child_tid, 0);
    futexes_.wake(self.clear_child_tid, 1, FUTEX_BITSET_MATCH_ANY);
  }
  if (threads().size() == 1) {
    end_process({Ending::Kind::exited, leader_status_});
    return Next::ended;
  }
  outside_.thread_ended(*this, status);
  outside_.turn_ended(*this);
  // From here on nothing comes in for this thread. A signal that it has taken in place of the process goes
  // back to the process.
  block_asynchronous();
  if (self.received.number != 0 && self.received.info.si_code != SI_TKILL)
    raw_syscall(SYS_kill, getpid(), self.received.number);
  on_robust_list({}); // what it held has been released, and the list may be gone when this OS thread ends
  self_ = nullptr;
  OsThreads::finishing();
  affinity_.forget(self.id);
  fibers_.forget(self);
  remove_thread(self);
  scheduler_.release();
  return Next::thread_over;
}

void Process::after_fork_in_child() {
  Thread& self = current();
  affinity_.after_fork(self.id);
  held_.clear();
  self.robust_list = {}; // the child has none until it says so
  keep_only_current(ThreadId(getpid()));
  scheduler_.reset(self);
  futexes_.clear();
  os_threads_.forget_all();
  if (in_one_thread()) fibers_.keep_only(self);
  orphan_ = !OsThreads::is_first();
}

// Calls that are over at once although some of their kind block.
bool Process::keeps_baton(const CallShape& shape, const SyscallArgs& arguments) const {
  if (threads().size() == 1 || shape.blocking == Blocking::never) return true;
  const CallFacts& facts = shape.info->facts;
  if (facts.reads == DataForm::none && facts.writes == DataForm::none) return false;
  struct stat file;
  auto fd = static_cast<int64_t>(static_cast<int32_t>(arguments[0]));
  return raw_syscall(SYS_fstat, fd, reinterpret_cast<int64_t>(&file)) == 0 && S_ISREG(file.st_mode);
}

int64_t Process::kernel_call(const CallShape& shape, const SyscallArgs& arguments, Baton baton) {
  Thread& self = current();
  if (in_one_thread() && threads().size() > 1 && shape.blocking == Blocking::may)
    return call_in_one_thread(shape, arguments);
  bool kept = baton == Baton::kept || (baton == Baton::as_needed && keeps_baton(shape, arguments));
  if (!kept) leave_turn();
  int64_t result = enter_kernel(self, shape, arguments);
  if (!kept) {
    scheduler_.acquire(self);
    begin_turn(self);
  }
  // What has ended the call is known from here on.
  if (result == -EINTR || result == kNotStarted) let_in_again(self);
  return result;
}

int64_t Process::enter_kernel(Thread& self, const CallShape& shape, const SyscallArgs& arguments) {
  int64_t raw[6];
  std::memcpy(raw, arguments.data(), sizeof raw);
  if (self.put_back == 0 || self.mask_of_call || shape.blocking != Blocking::may)
    return interruptible_syscall(&self.pending, shape.info->number, raw);
  // What is blocked does not end the call, if it waits: something else has to.
  CallAlarm alarm((action(self.put_back).flags & SA_RESTART) != 0);
  if (!alarm.is_set()) return kNotStarted;
  return interruptible_syscall(&self.pending, shape.info->number, raw);
}

int64_t Process::futex_call(const SystemCall& call, const CallShape& shape) {
  const SyscallArgs& a = call.arguments;
  int64_t result;
  if (call.number == SYS_futex) {
    // Memory that other processes see is the kernel's affair.
    if (!(a[1] & FUTEX_PRIVATE_FLAG) && is_shared(GuestAddr(a[0]))) return outside_.call(*this, call, shape);
    int command = static_cast<int>(a[1]) & FUTEX_CMD_MASK;
    FutexOutcome outcome = futexes_.futex(current(), a);
    result = outcome.waits ? wait_for(outcome, command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2)
                           : outcome.result;
  } else {
    FutexOutcome outcome = futexes_.futex_waitv(current(), a);
    result = outcome.waits ? wait_for(outcome, false) : outcome.result;
  }
  outside_.called(*this, call, result);
  return result;
}

Scheduler::Woken Process::sleep_until(clockid_t clock, const std::optional<timespec>& deadline) {
  Thread& self = current();
  self.woken = false;
  let_in_again(self);
  leave_turn();
  Scheduler::Woken how = scheduler_.wait(self, clock, deadline);
  if (how != Scheduler::Woken::granted) scheduler_.acquire(self);
  begin_turn(self);
  return how;
}

int64_t Process::rest() {
  sleep_until(CLOCK_MONOTONIC, std::nullopt);
  return current().woken ? 0 : interrupted_call(true);
}

int64_t Process::wait_for(const FutexOutcome& outcome, bool always_restarts) {
  Scheduler::Woken how = sleep_until(outcome.clock, outcome.deadline);
  Thread& self = current();
  if (self.woken) return self.wake_result;
  futexes_.cancel(self);
  if (how == Scheduler::Woken::timed_out) return -ETIMEDOUT;
  return always_restarts ? kNotStarted : interrupted_call(!outcome.deadline);
}

bool Process::read_memory(GuestAddr from, void* to, size_t size) {
  return space().read(from, to, size) == size;
}

bool Process::write_word(GuestAddr to, uint32_t value) {
  if (space().write(to, &value, 4) != 4) return false;
  outside_.wrote(*this, to, &value, 4);
  return true;
}

// Which error there is depends on the kernel's version, so the kernel is asked.
int64_t Process::try_lock_of_stranger(ThreadId owner, int operation) {
  auto word = static_cast<uint32_t>(owner.value);
  return raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&word),
                     FUTEX_TRYLOCK_PI | (operation & FUTEX_PRIVATE_FLAG));
}

WordAccess Process::access_to(GuestAddr word) {
  uint32_t value;
  const Mapping* mapping = space().find(word.value);
  // Of a file that was cut off, the mapping goes on where there is no page any more.
  if (mapping == nullptr || !read_memory(word, &value, 4)) return WordAccess::none;
  if (mapping->protection & PROT_WRITE) return WordAccess::writable;
  return is_own(*mapping) ? WordAccess::none : WordAccess::read_only_file;
}

bool Process::is_shared(GuestAddr word) {
  const Mapping* mapping = space().find(word.value);
  return mapping != nullptr && mapping->flags & MAP_SHARED;
}

void Process::wake_in_kernel(GuestAddr word) {
  raw_syscall(SYS_futex, static_cast<int64_t>(word.value), FUTEX_WAKE, 1);
}

void Process::wake(Thread& thread, int64_t result) {
  thread.woken = true;
  thread.wake_result = result;
  scheduler_.make_ready(thread);
}

} // namespace rdb::guest
