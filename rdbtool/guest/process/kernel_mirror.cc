// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/kernel_mirror.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "rdbtool/guest/signals/signal_inbox.h"

#include <csignal>
#include <sys/syscall.h>

namespace rdb::guest {

void KernelMirror::on_mask(uint64_t mask) {
  inbox_.open(mask);
}

void KernelMirror::on_action(int signal) {
  if (kSynchronousSignals >> (signal - 1) & 1 || signal == SIGKILL || signal == SIGSTOP) return;
  const SignalAction& action = machine_.action(signal);
  Disposition disposition = Disposition::received;
  if (action.handler == reinterpret_cast<uint64_t>(SIG_IGN))
    disposition = Disposition::ignored;
  else if (action.handler == reinterpret_cast<uint64_t>(SIG_DFL) &&
           (!ends_by_default(signal) || machine_.identity().is_init()))
    disposition = Disposition::standard;
  set_disposition(signal, disposition, action.flags);
}

// The kernel walks the list when SIGKILL ends the process: rdb has no say then.
void KernelMirror::on_robust_list(GuestAddr head) {
  constexpr int64_t kHeadSize = 24;
  if (!machine_.in_one_thread())
    raw_syscall(SYS_set_robust_list, static_cast<int64_t>(head.value), kHeadSize);
}

void KernelMirror::set_all_actions() {
  for (int signal = 1; signal <= 64; ++signal)
    on_action(signal);
}

} // namespace rdb::guest
