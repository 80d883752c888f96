// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that may block, where all guest threads live in one OS thread: they are tried without blocking, and
// the other threads run in between. Thread numbers and signals between threads are rdb's own here.
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/process/process.h"
#include "rdbtool/syscalls/facts.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

constexpr long kSecond = 1'000'000'000;

timespec later(clockid_t clock, const timespec& by) {
  timespec now;
  clock_gettime(clock, &now);
  timespec result{now.tv_sec, now.tv_nsec + by.tv_nsec};
  if (__builtin_add_overflow(result.tv_sec, by.tv_sec, &result.tv_sec)) result.tv_sec = LONG_MAX - 1;
  if (result.tv_nsec >= kSecond) {
    result.tv_nsec -= kSecond;
    ++result.tv_sec;
  }
  return result;
}

bool passed(const std::optional<timespec>& deadline) {
  if (!deadline) return false;
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec != deadline->tv_sec ? now.tv_sec > deadline->tv_sec : now.tv_nsec >= deadline->tv_nsec;
}

} // namespace

// What a signal makes of a call that was waiting.
int64_t Process::interrupted_call(bool restartable) {
  const SignalAction& signal = action(current().received.number);
  bool handled = signal.handler != reinterpret_cast<uint64_t>(SIG_DFL) &&
                 signal.handler != reinterpret_cast<uint64_t>(SIG_IGN);
  return handled && (!restartable || !(signal.flags & SA_RESTART)) ? -EINTR : kNotStarted;
}

void Process::let_others_run() {
  Thread& self = current();
  outside_.turn_ended(*this);
  save_current();
  scheduler_.try_later(self);
  begin_turn(self);
}

int64_t Process::sleep_call(int64_t number, const SyscallArgs& arguments) {
  bool plain = number == SYS_nanosleep;
  bool absolute = !plain && arguments[1] & TIMER_ABSTIME;
  FutexOutcome outcome;
  if (number != SYS_pause) {
    timespec time;
    if (!read_memory(GuestAddr(arguments[plain ? 0 : 2]), &time, sizeof time)) return -EFAULT;
    if (time.tv_sec < 0 || time.tv_nsec < 0 || time.tv_nsec >= kSecond) return -EINVAL;
    clockid_t clock = plain ? CLOCK_MONOTONIC : static_cast<clockid_t>(arguments[0]);
    outcome.clock = absolute ? clock : CLOCK_MONOTONIC;
    outcome.deadline = absolute ? time : later(CLOCK_MONOTONIC, time);
  }
  int64_t result = wait_for(outcome, false);
  return result == -ETIMEDOUT ? 0 : result;
}

int64_t Process::timed_call(int64_t number, const SyscallArgs& arguments) {
  Thread& self = current();
  const CallFacts& facts = facts_of(number);
  auto index = static_cast<size_t>(facts.timeout_arg);
  std::optional<timespec> deadline;
  timespec zero{0, 0};
  int64_t raw[6];
  std::memcpy(raw, arguments.data(), sizeof raw);
  if (facts.timeout_unit == TimeUnit::milliseconds) {
    auto timeout = static_cast<int32_t>(arguments[index]);
    if (timeout >= 0) deadline = later(CLOCK_MONOTONIC, {timeout / 1000, timeout % 1000 * 1'000'000L});
    raw[index] = 0;
  } else {
    timespec time;
    if (arguments[index] != 0) {
      std::memcpy(&time, reinterpret_cast<const void*>(arguments[index]), sizeof time);
      if (facts.timeout_unit == TimeUnit::timeval) time.tv_nsec *= 1000;
      deadline = later(CLOCK_MONOTONIC, time);
    }
    raw[index] = reinterpret_cast<int64_t>(&zero);
  }
  // The sets of select are both question and answer.
  bool select = number == SYS_select || number == SYS_pselect6;
  size_t set_size = select ? (static_cast<size_t>(arguments[0]) + 63) / 64 * 8 : 0;
  std::vector<std::byte> sets(3 * set_size);
  for (size_t i = 0; select && i < 3; ++i)
    if (arguments[i + 1] != 0)
      std::memcpy(sets.data() + i * set_size, reinterpret_cast<void*>(arguments[i + 1]), set_size);
  for (;;) {
    zero = {0, 0};
    int64_t result = interruptible_syscall(&self.pending, number, raw);
    bool nothing = result == 0 || (number == SYS_rt_sigtimedwait && result == -EAGAIN);
    if (!nothing || passed(deadline)) return result;
    for (size_t i = 0; select && i < 3; ++i)
      if (arguments[i + 1] != 0)
        std::memcpy(reinterpret_cast<void*>(arguments[i + 1]), sets.data() + i * set_size, set_size);
    let_others_run();
    if (self.pending) return interrupted_call(false);
  }
}

int64_t Process::wait_for_child(int64_t number, const SyscallArgs& arguments) {
  Thread& self = current();
  size_t options = number == SYS_wait4 ? 2 : 3;
  int64_t raw[6];
  std::memcpy(raw, arguments.data(), sizeof raw);
  raw[options] |= WNOHANG;
  siginfo_t info;
  if (number == SYS_waitid && raw[2] == 0) raw[2] = reinterpret_cast<int64_t>(&info);
  for (;;) {
    if (number == SYS_waitid) reinterpret_cast<siginfo_t*>(raw[2])->si_pid = 0;
    int64_t result = interruptible_syscall(&self.pending, number, raw);
    bool nothing = result == 0 && (number == SYS_wait4 || reinterpret_cast<siginfo_t*>(raw[2])->si_pid == 0);
    if (!nothing || arguments[options] & WNOHANG) return result;
    let_others_run();
    if (self.pending) return interrupted_call(true);
  }
}

int64_t Process::call_in_one_thread(const CallShape& shape, const SyscallArgs& arguments) {
  Thread& self = current();
  int64_t number = shape.info->number;
  switch (number) {
  case SYS_nanosleep:
  case SYS_clock_nanosleep:
  case SYS_pause:
    return sleep_call(number, arguments);
  case SYS_wait4:
  case SYS_waitid:
    return wait_for_child(number, arguments);
  default:
    break;
  }
  if (shape.info->facts.timeout_arg != kNoArgument) return timed_call(number, arguments);
  if (short event = shape.info->facts.waits_for) {
    for (;;) {
      pollfd probe{static_cast<int>(arguments[0]), event, 0};
      const int64_t probed = raw_syscall(SYS_poll, reinterpret_cast<int64_t>(&probe), 1, 0);
      if (probed != 0 || self.pending) break;
      let_others_run();
      if (self.pending) return interrupted_call(true);
    }
  }
  return enter_kernel(self, shape, arguments);
}

int64_t Process::send_to_thread(const SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  bool with_group = call.number == SYS_tgkill;
  auto number = static_cast<int>(a[with_group ? 2 : 1]);
  Thread* target = find_thread(ThreadId(static_cast<int32_t>(a[with_group ? 1 : 0])));
  if (target == nullptr || (with_group && static_cast<int>(a[0]) != identity().pid)) return -ESRCH;
  if (number < 0 || number > 64) return -EINVAL;
  if (number == 0) return 0;
  PendingSignal signal;
  signal.number = number;
  signal.info.si_signo = number;
  signal.info.si_code = SI_TKILL;
  signal.info.si_pid = identity().pid;
  signal.info.si_uid = getuid();
  target->sent.push_back(signal);
  take_sent(*target);
  return 0;
}

// The first signal that the thread does not block becomes the one that it is about to get.
void Process::take_sent(Thread& thread) {
  if (thread.pending) return;
  for (auto signal = thread.sent.begin(); signal != thread.sent.end(); ++signal) {
    if (thread.mask >> (signal->number - 1) & 1) continue;
    thread.received = *signal;
    thread.sent.erase(signal);
    thread.pending = true;
    return;
  }
}

// A signal from outside goes to the thread that runs, or else to one that lets it in.
Thread* Process::receiver_of(int signal) {
  auto lets_in = [&](const Thread& t) { return !(t.mask >> (signal - 1) & 1) && !t.pending; };
  if (self_ != nullptr && lets_in(*self_)) return self_;
  for (const auto& [id, thread] : threads())
    if (lets_in(*thread)) return thread.get();
  return self_;
}

// While nobody runs, the kernel may deliver what any of the threads lets in.
void Process::open_masks() {
  uint64_t blocked = ~0ull;
  for (const auto& [id, thread] : threads())
    blocked &= thread->pending ? ~0ull : thread->mask;
  blocked &= ~kSynchronousSignals;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&blocked), 0, 8);
}

} // namespace rdb::guest
