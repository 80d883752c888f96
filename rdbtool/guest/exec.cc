// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// New processes and new programs. A forked child goes on under the engine by itself; execve starts rdb again
// with the program's words and environment handed over in a memory file, so that nothing of the guest's
// environment acts on the host.
#include "rdbtool/base/error.h"
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
namespace {

// Null-terminated; false on a bad pointer.
bool read_string(AddressSpace& space, uint64_t address, std::string& out) {
  out.clear();
  char part[256];
  for (;;) {
    size_t want = std::min<size_t>(sizeof part, kPage - (address & (kPage - 1)));
    size_t got = space.read(GuestAddr(address), part, want);
    if (got == 0) return false;
    size_t length = strnlen(part, got);
    out.append(part, length);
    if (length < got) return true;
    if (out.size() > 131072) return false;
    address += got;
  }
}

bool read_strings(AddressSpace& space, uint64_t list, std::vector<std::string>& out) {
  if (list == 0) return true;
  for (;; list += 8) {
    uint64_t address;
    if (space.read(GuestAddr(list), &address, 8) != 8) return false;
    if (address == 0) return true;
    if (!read_string(space, address, out.emplace_back())) return false;
  }
}

} // namespace

int64_t Process::sys_clone(const SystemCall& call) {
  engine::Registers& regs = registers();
  uint64_t flags = call.number == SYS_clone ? call.arguments[0] : SIGCHLD;
  uint64_t stack = call.number == SYS_clone ? call.arguments[1] : 0;
  if (flags & CLONE_THREAD) limit("threads (clone at {:#x})", regs.rip - 2);
  // The child gets a copy of everything, rdb included. One that shares its parent's memory until exec (vfork)
  // gets a copy too, and its parent waits for it as asked.
  uint64_t real = (flags & ~static_cast<uint64_t>(CLONE_VM | CLONE_SETTLS));
  int64_t result =
      raw_syscall(SYS_clone, static_cast<int64_t>(real), 0, static_cast<int64_t>(call.arguments[2]),
                  static_cast<int64_t>(call.arguments[3]), 0);
  if (result == 0) {
    set_identity({identity().program, getpid()});
    keep_only_current(ThreadId(getpid()));
    if (stack != 0) regs.gpr[engine::RSP] = stack;
    if (flags & CLONE_SETTLS) regs.fs_base = call.arguments[4];
  }
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
  Program program;
  if (int error = resolve_program(name, handover.argv, program)) return error;
  handover.path = name;
  handover.machine = options();
  return exec_rdb(handover);
}

} // namespace rdb::guest
