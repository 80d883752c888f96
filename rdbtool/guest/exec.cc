// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// New processes and new programs. A forked child goes on under the engine by itself; execve starts rdb again
// with the program's words and environment handed over in a memory file, so that nothing of the guest's
// environment acts on the host.
#include "rdbtool/base/error.h"
#include "rdbtool/guest/guest_strings.h"
#include "rdbtool/guest/handover.h"
#include "rdbtool/guest/process.h"
#include "rdbtool/guest/raw_syscall.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/limits.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::guest {
int64_t Process::sys_clone(const SystemCall& call) {
  engine::Registers& regs = registers();
  uint64_t flags = call.number == SYS_clone ? call.arguments[0] : SIGCHLD;
  uint64_t stack = call.number == SYS_clone ? call.arguments[1] : 0;
  // The child gets a copy of everything, rdb included. One that shares its parent's memory until exec (vfork)
  // gets a copy too, and its parent waits for it as asked.
  uint64_t real = (flags & ~static_cast<uint64_t>(CLONE_VM | CLONE_SETTLS));
  // Nobody else may be in the middle of something that the child will need.
  os_threads_.collect();
  scheduler_.lock();
  int64_t result =
      raw_syscall(SYS_clone, static_cast<int64_t>(real), 0, static_cast<int64_t>(call.arguments[2]),
                  static_cast<int64_t>(call.arguments[3]), 0);
  scheduler_.unlock();
  if (result == 0) {
    set_identity({identity().program, getpid()});
    after_fork_in_child();
    if (stack != 0) regs.gpr[engine::RSP] = stack;
    if (flags & CLONE_SETTLS) regs.fs_base = call.arguments[4];
  }
  return result;
}

Inherited Process::inheritance() const {
  Inherited result;
  result.known = true;
  for (size_t i = 0; i < result.limits.size(); ++i)
    result.limits[i] = limits_.get(GuestLimits::kKept[i]);
  constexpr uint64_t kNotInherited = 2; // PR_MDWE_NO_INHERIT
  if (!(hidden_host_.deny_write_execute() & kNotInherited))
    result.deny_write_execute = hidden_host_.deny_write_execute();
  result.filters = seccomp_.programs();
  return result;
}

int64_t Process::sys_execve(uint64_t path, uint64_t argv, uint64_t environment, int directory_fd, int flags) {
  Handover handover;
  std::string name;
  if (!read_string(space(), path, name) || !read_strings(space(), argv, handover.argv) ||
      !read_strings(space(), environment, handover.environment))
    return -EFAULT;
  if (name.empty() && !(flags & AT_EMPTY_PATH)) return -ENOENT;
  if (directory_fd != AT_FDCWD && (name.empty() || name[0] != '/'))
    name = "/proc/self/fd/" + std::to_string(directory_fd) + (name.empty() ? "" : "/" + name);
  name = hidden_host_.program_path(*this, AT_FDCWD, name);
  Program program;
  if (int error = resolve_program(name, handover.argv, program)) return error;
  handover.path = name;
  handover.machine = options();
  handover.inherited = inheritance();
  return exec_rdb(handover);
}

} // namespace rdb::guest
