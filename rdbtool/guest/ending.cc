// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/ending.h"

#include "rdbtool/base/error.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::guest {

void end_as(const Ending& ending) {
  std::fflush(nullptr);
  if (ending.kind == Ending::Kind::signalled) {
    rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core); // a core of the host would mislead
    signal(ending.value, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    raise(ending.value);
    _exit(128 + ending.value); // the first process of a container outlives it
  }
  _exit(ending.value);
}

Ending ending_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {Ending::Kind::signalled, WTERMSIG(wait_status)};
  return {Ending::Kind::exited, WEXITSTATUS(wait_status)};
}

std::string describe(const Ending& ending) {
  if (ending.kind == Ending::Kind::exited) return fmt::format("exit {}", ending.value);
  const char* name = sigabbrev_np(ending.value);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", ending.value);
}

} // namespace rdb::guest
