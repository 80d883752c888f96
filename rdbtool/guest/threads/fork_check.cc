// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/fork_check.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"

#include <cerrno>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace rdb::guest {

Copies::Copies(const TurnOptions& options) : interval_(options.copy_interval), random_(options.seed) {
  if (interval_ != 0) next_ = random_() % (2 * interval_);
}

void Copies::make() {
  // Without a signal at its end: the guest has no such child.
  int64_t copy = raw_syscall(SYS_clone, 0, 0, 0, 0, 0);
  if (copy < 0) limit("a copy of the run: the system has no room for it");
  if (copy == 0) {
    next_ = UINT64_MAX;
    statuses_.clear();
    return;
  }
  int status = 0;
  while (waitpid(static_cast<pid_t>(copy), &status, __WALL) < 0)
    if (errno != EINTR) bug("a copy of the run was lost");
  statuses_.push_back(status);
  next_ += 1 + random_() % (2 * interval_);
}

void Copies::check(const Ending& ending) const {
  if (ending.kind == Ending::Kind::stopped) return;
  for (int status : statuses_) {
    bool alike = ending.kind == Ending::Kind::exited
                     ? WIFEXITED(status) && WEXITSTATUS(status) == ending.value
                     : WIFSIGNALED(status) && WTERMSIG(status) == ending.value;
    if (!alike) bug("a copy of the run ended with status {:#x}, and the run otherwise", status);
  }
}

} // namespace rdb::guest
