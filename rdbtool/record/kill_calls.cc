// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/record/kill_calls.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <memory>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::record {
namespace {

std::set<pid_t> processes() {
  std::set<pid_t> result;
  std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc"), closedir);
  while (const dirent* entry = directory == nullptr ? nullptr : readdir(directory.get()))
    if (long pid = std::strtol(entry->d_name, nullptr, 10); pid > 0) result.insert(static_cast<pid_t>(pid));
  return result;
}

} // namespace

std::optional<KillCall> kill_call(guest::Machine& machine, const guest::SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  auto target = static_cast<pid_t>(a[0]);
  int own = machine.identity().pid;
  if (own == 1) return std::nullopt; // it does not end by that
  using To = KillCall::To;
  switch (call.number) {
  case SYS_kill:
    if (static_cast<int>(a[1]) != SIGKILL) break;
    if (target == own) return KillCall{To::caller};
    if (target == 0 || target == -getpgrp()) return KillCall{To::group};
    if (target == -1) return KillCall{To::all};
    break;
  case SYS_tkill:
    if (static_cast<int>(a[1]) == SIGKILL && machine.find_thread(ThreadId(target)) != nullptr)
      return KillCall{To::caller};
    break;
  case SYS_tgkill: {
    bool is_own = target == own && machine.find_thread(ThreadId(static_cast<pid_t>(a[1]))) != nullptr;
    if (static_cast<int>(a[2]) == SIGKILL && is_own) return KillCall{To::caller};
    break;
  }
  default:
    break;
  }
  return std::nullopt;
}

int64_t kill_others(KillCall call, pid_t spared) {
  if (call.to == KillCall::To::caller) return 0;
  const pid_t own = getpid();
  const pid_t group = getpgrp();
  std::set<pid_t> sent;
  int64_t result = -ESRCH;
  // Until no new one is found: some may have been made meanwhile.
  for (size_t before = SIZE_MAX; before != sent.size();) {
    before = sent.size();
    for (pid_t pid : processes()) {
      bool concerned = call.to == KillCall::To::all ? pid != 1 : getpgid(pid) == group;
      if (!concerned || pid == own || pid == spared || !sent.insert(pid).second) continue;
      if (kill(pid, SIGKILL) == 0)
        result = 0;
      else if (errno == EPERM && result != 0)
        result = -EPERM;
    }
  }
  return result;
}

} // namespace rdb::record
