// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A time-out for a system call that blocks while the guest's signals are blocked.
#pragma once

#include <csignal>

namespace rdb::guest {

class CallAlarm {
public:
  // For the next call of this OS thread. `restarts`: whether the kernel is to begin the call again, where it
  // does so for handlers with SA_RESTART.
  explicit CallAlarm(bool restarts);
  ~CallAlarm();
  CallAlarm(const CallAlarm&) = delete;
  CallAlarm& operator=(const CallAlarm&) = delete;

  // False if the kernel had no timer left: nothing ends the call.
  bool is_set() const { return timer_ >= 0; }

  // Whether a signal is an alarm's, and nobody else's.
  static bool is_source_of(const siginfo_t& info);

private:
  int timer_ = -1;
  bool restarts_;
};

} // namespace rdb::guest
