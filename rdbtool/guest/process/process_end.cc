// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/process_end.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/print_error.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/memory/memory_calls.h"
#include "rdbtool/guest/process/ending.h"
#include "rdbtool/guest/process/process_listener.h"
#include "rdbtool/guest/signals/signal_inbox.h"
#include "rdbtool/guest/threads/futex_calls.h"
#include "rdbtool/guest/threads/os_threads.h"
#include "rdbtool/guest/threads/scheduler.h"

#include <csignal>
#include <cstdio>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::guest {

void ProcessEnd::end(const Ending& ending) {
  ending_ = ending;
  if (ending.kind != Ending::Kind::stopped) futexes_.release_shared();
  memory_.hand_back();
  if (ending.kind != Ending::Kind::stopped) listener_.on_end(machine_, ending);
  scheduler_.end_process();
  for (const auto& [id, thread] : machine_.threads()) {
    if (thread.get() == SignalInbox::receiver() || machine_.in_one_thread()) continue;
    scheduler_.expel(*thread);
    // Out of a call in the kernel. This signal is never blocked.
    raw_syscall(SYS_tgkill, getpid(), id.value, SIGSYS);
  }
  over_ = 1;
  raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&over_), FUTEX_WAKE_PRIVATE, 1);
}

void ProcessEnd::fail() {
  try {
    throw;
  } catch (const std::exception& error) {
    listener_.on_failure(failure_text(error));
  } catch (...) {
    // Not for the user: the host's own way out.
  }
  if (!failure_) failure_ = std::current_exception();
  end({Ending::Kind::stopped, 0});
}

void ProcessEnd::wait_until_over() {
  while (!is_over())
    raw_syscall(SYS_futex, reinterpret_cast<int64_t>(&over_), FUTEX_WAIT_PRIVATE, 0);
}

const Ending& ProcessEnd::result() const {
  if (failure_) std::rethrow_exception(failure_);
  return ending_;
}

void ProcessEnd::after_fork() {
  orphan_ = !OsThreads::is_first();
}

void ProcessEnd::end_orphan() {
  if (!is_over() || !orphan_) return;
  if (!failure_) end_as(ending_);
  try {
    std::rethrow_exception(failure_);
  } catch (const std::exception& error) {
    print_error("rdb: {}\n", visible_text(failure_text(error)));
  }
  std::fflush(nullptr);
  raw_syscall(SYS_exit_group, kExitFailure);
  __builtin_unreachable();
}

} // namespace rdb::guest
