// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/baton.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/signals/interruptible_call.h"
#include "rdbtool/guest/signals/signal_inbox.h"
#include "rdbtool/guest/threads/one_thread_calls.h"
#include "rdbtool/guest/threads/turns.h"
#include "rdbtool/syscalls/call_properties.h"

#include <cerrno>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace rdb::guest {

Baton::During Baton::best_for(const CallShape& shape, const SyscallArgs& arguments) const {
  if (machine_.threads().size() == 1 || shape.blocking == Blocking::never) return During::kept;
  const CallProperties& properties = shape.info->properties;
  if (properties.reads == DataForm::none && properties.writes == DataForm::none) return During::given_away;
  struct stat file;
  auto fd = static_cast<int64_t>(static_cast<int32_t>(arguments[0]));
  bool regular = raw_syscall(SYS_fstat, fd, reinterpret_cast<int64_t>(&file)) == 0 && S_ISREG(file.st_mode);
  return regular ? During::kept : During::given_away;
}

int64_t Baton::call_kernel(const CallShape& shape, const SyscallArgs& arguments, During baton) {
  Thread& self = machine_.current();
  bool alone = machine_.threads().size() == 1;
  if (machine_.in_one_thread() && !alone && shape.blocking == Blocking::may)
    return one_thread_.call(shape, arguments);
  if (baton == During::given_away) turns_.give_away();
  int64_t result = interruptible_call(machine_, self, shape, arguments);
  if (baton == During::given_away) turns_.take_back(self);
  // What has ended the call is known from here on.
  if (result == -EINTR || result == kNotStarted) inbox_.let_in_again(self);
  return result;
}

int64_t Baton::rest() {
  turns_.rest(CLOCK_MONOTONIC, std::nullopt);
  return machine_.current().woken ? 0 : inbox_.interrupted_result(true);
}

void Baton::resume(Thread& thread) {
  turns_.wake(thread, 0);
}

bool Baton::is_process_over() const {
  return scheduler_.is_over();
}

} // namespace rdb::guest
