// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/one_thread_calls.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/signals/interruptible_call.h"
#include "rdbtool/guest/signals/signal_inbox.h"
#include "rdbtool/guest/threads/turns.h"
#include "rdbtool/syscalls/call_properties.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <optional>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <vector>

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

int64_t OneThreadCalls::sleep(int64_t number, const SyscallArgs& arguments) {
  bool plain = number == SYS_nanosleep;
  bool absolute = !plain && arguments[1] & TIMER_ABSTIME;
  clockid_t clock = CLOCK_MONOTONIC;
  std::optional<timespec> deadline;
  if (number != SYS_pause) {
    timespec time;
    GuestAddr from(arguments[plain ? 0 : 2]);
    if (machine_.space().read(from, &time, sizeof time) != sizeof time) return -EFAULT;
    if (time.tv_sec < 0 || time.tv_nsec < 0 || time.tv_nsec >= kSecond) return -EINVAL;
    if (absolute) clock = static_cast<clockid_t>(arguments[0]);
    deadline = absolute ? time : later(CLOCK_MONOTONIC, time);
  }
  Woken how = turns_.sleep(clock, deadline);
  return how == Woken::timed_out ? 0 : inbox_.interrupted_result(!deadline);
}

int64_t OneThreadCalls::wait_with_timeout(int64_t number, const SyscallArgs& arguments) {
  Thread& self = machine_.current();
  const CallProperties& properties = properties_of(number);
  auto index = static_cast<size_t>(properties.timeout_arg);
  std::optional<timespec> deadline;
  timespec zero{0, 0};
  int64_t raw[6];
  std::memcpy(raw, arguments.data(), sizeof raw);
  if (properties.timeout_unit == TimeUnit::milliseconds) {
    auto timeout = static_cast<int32_t>(arguments[index]);
    if (timeout >= 0) deadline = later(CLOCK_MONOTONIC, {timeout / 1000, timeout % 1000 * 1'000'000L});
    raw[index] = 0;
  } else {
    timespec time;
    if (arguments[index] != 0) {
      std::memcpy(&time, reinterpret_cast<const void*>(arguments[index]), sizeof time);
      if (properties.timeout_unit == TimeUnit::timeval) time.tv_nsec *= 1000;
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
    turns_.try_later();
    if (self.pending) return inbox_.interrupted_result(false);
  }
}

int64_t OneThreadCalls::wait_for_child(int64_t number, const SyscallArgs& arguments) {
  Thread& self = machine_.current();
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
    turns_.try_later();
    if (self.pending) return inbox_.interrupted_result(true);
  }
}

int64_t OneThreadCalls::wait_for_file(short event, const CallShape& shape, const SyscallArgs& arguments) {
  Thread& self = machine_.current();
  for (;;) {
    pollfd probe{static_cast<int>(arguments[0]), event, 0};
    const int64_t probed = raw_syscall(SYS_poll, reinterpret_cast<int64_t>(&probe), 1, 0);
    if (probed != 0 || self.pending) break;
    turns_.try_later();
    if (self.pending) return inbox_.interrupted_result(true);
  }
  return interruptible_call(machine_, self, shape, arguments);
}

int64_t OneThreadCalls::call(const CallShape& shape, const SyscallArgs& arguments) {
  int64_t number = shape.info->number;
  switch (number) {
  case SYS_nanosleep:
  case SYS_clock_nanosleep:
  case SYS_pause:
    return sleep(number, arguments);
  case SYS_wait4:
  case SYS_waitid:
    return wait_for_child(number, arguments);
  default:
    break;
  }
  if (shape.info->properties.timeout_arg != kNoArgument) return wait_with_timeout(number, arguments);
  if (short event = shape.info->properties.waits_for) return wait_for_file(event, shape, arguments);
  return interruptible_call(machine_, machine_.current(), shape, arguments);
}

} // namespace rdb::guest
