// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/signals/call_alarm.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/signals/host_signals.h"

#include <ctime>
#include <sys/syscall.h>

namespace rdb::guest {
namespace {

// A call that does not wait is over long before.
constexpr long kNanoseconds = 100'000;

int g_mark; // its address is in the signals

} // namespace

// The signal is one that rdb never blocks.
CallAlarm::CallAlarm(bool restarts) : restarts_(restarts) {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGSYS;
  event.sigev_value.sival_ptr = &g_mark;
  event._sigev_un._tid = static_cast<pid_t>(raw_syscall(SYS_gettid));
  int timer = -1;
  if (raw_syscall(SYS_timer_create, CLOCK_MONOTONIC, reinterpret_cast<int64_t>(&event),
                  reinterpret_cast<int64_t>(&timer)) != 0)
    return;
  timer_ = timer;
  if (restarts_) set_restart_after_alarm(true);
  itimerspec once{{0, 0}, {0, kNanoseconds}};
  raw_syscall(SYS_timer_settime, timer_, 0, reinterpret_cast<int64_t>(&once), 0);
}

CallAlarm::~CallAlarm() {
  if (timer_ < 0) return;
  raw_syscall(SYS_timer_delete, timer_);
  if (restarts_) set_restart_after_alarm(false);
}

bool CallAlarm::is_source_of(const siginfo_t& info) {
  return info.si_code == SI_TIMER && info.si_value.sival_ptr == &g_mark;
}

} // namespace rdb::guest
