// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/signals/interruptible_call.h"

#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/signals/call_alarm.h"
#include "rdbtool/guest/signals/host_signals.h"

#include <csignal>
#include <cstring>

namespace rdb::guest {

int64_t interruptible_call(const Machine& machine, Thread& self, const CallShape& shape,
                           const SyscallArgs& arguments) {
  int64_t raw[6];
  std::memcpy(raw, arguments.data(), sizeof raw);
  if (self.put_back == 0 || self.mask_of_call || shape.blocking != Blocking::may)
    return interruptible_syscall(&self.pending, shape.info->number, raw);
  // While a signal is put back, all are blocked, and none of them ends the call. If it waits, something else
  // has to.
  CallAlarm alarm((machine.action(self.put_back).flags & SA_RESTART) != 0);
  if (!alarm.is_set()) return kNotStarted;
  return interruptible_syscall(&self.pending, shape.info->number, raw);
}

} // namespace rdb::guest
