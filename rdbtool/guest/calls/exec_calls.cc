// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/calls/exec_calls.h"

#include "rdbtool/guest/calls/refused_calls.h"
#include "rdbtool/guest/calls/seccomp_filter.h"
#include "rdbtool/guest/host/hidden_host.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/host/privileges.h"
#include "rdbtool/guest/memory/guest_strings.h"
#include "rdbtool/guest/memory/memory_calls.h"
#include "rdbtool/guest/process/elf_image.h"
#include "rdbtool/guest/process/handover.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_listener.h"
#include "rdbtool/guest/signals/block_signals.h"
#include "rdbtool/guest/threads/affinity.h"
#include "rdbtool/guest/threads/futex_calls.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

// The kernel's limits on arguments and environment.
int check_size(const Handover& handover, uint64_t stack_limit) {
  constexpr uint64_t kLongest = 131072;
  constexpr uint64_t kMost = 6u << 20;
  uint64_t total = 0;
  for (const auto* list : {&handover.argv, &handover.environment})
    for (const std::string& text : *list) {
      if (text.size() >= kLongest) return -E2BIG;
      total += text.size() + 1 + sizeof(char*);
    }
  uint64_t most = std::max(std::min(stack_limit / 4, kMost), kLongest);
  return total > most ? -E2BIG : 0;
}

// A path that leads to the program after execve too, when descriptors may have been closed.
std::string lasting_path(const std::string& path, Handover& handover) {
  if (!path.starts_with("/proc/self/fd/") && !path.starts_with("/dev/fd/")) return path;
  char target[PATH_MAX];
  ssize_t n = readlink(path.c_str(), target, sizeof target);
  std::string real(target, n > 0 ? static_cast<size_t>(n) : 0);
  struct stat by_path;
  struct stat by_name;
  if (stat(path.c_str(), &by_path) != 0) return path;
  if (stat(real.c_str(), &by_name) == 0 && by_name.st_ino == by_path.st_ino &&
      by_name.st_dev == by_path.st_dev)
    return real;
  // No name leads there (any more): the descriptor goes along.
  handover.program_fd = move_out_of_reach(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return "/proc/self/fd/" + std::to_string(handover.program_fd);
}

} // namespace

Inherited ExecCalls::inheritance() const {
  Inherited result;
  result.known = true;
  result.mask = p_.machine.mask();
  for (size_t i = 0; i < result.limits.size(); ++i)
    result.limits[i] = p_.limits.get(GuestLimits::kKept[i]);
  constexpr uint64_t kNotInherited = 2; // PR_MDWE_NO_INHERIT
  if (!(p_.hidden_host.deny_write_execute() & kNotInherited))
    result.deny_write_execute = p_.hidden_host.deny_write_execute();
  result.death_signal_is_guests = p_.hidden_host.death_signal_is_guests();
  result.filters = p_.filters.programs();
  return result;
}

std::string ExecCalls::path_from(int directory, const std::string& name, Handover& handover) {
  std::string path = name;
  if (directory != AT_FDCWD && (name.empty() || name[0] != '/'))
    path = "/proc/self/fd/" + std::to_string(directory) + (name.empty() ? "" : "/" + name);
  return lasting_path(p_.hidden_host.program_path(AT_FDCWD, path), handover);
}

int64_t ExecCalls::prepare(const SystemCall& call, Handover& handover) {
  const SyscallArgs& a = call.arguments;
  AddressSpace& space = p_.machine.space();
  bool at = call.number == SYS_execveat;
  size_t first = at ? 1 : 0; // path, argv, environment
  int directory = at ? static_cast<int>(a[0]) : AT_FDCWD;
  uint64_t flags = at ? a[4] : 0;
  std::string name;
  if (!read_string(space, a[first], name) || !read_strings(space, a[first + 1], handover.argv) ||
      !read_strings(space, a[first + 2], handover.environment))
    return -EFAULT;
  if (name.empty() && !(flags & AT_EMPTY_PATH)) return -ENOENT;
  if (int error = check_size(handover, p_.limits.get(RLIMIT_STACK).rlim_cur)) return error;
  if (handover.argv.empty()) handover.argv.emplace_back();
  handover.path = path_from(directory, name, handover);
  Program program;
  if (int error = resolve_program(handover.path, handover.argv, program)) return error;
  if (std::string identity = changed_identity(program.path); !identity.empty()) {
    p_.refusals.tell(
        fmt::format("execve of the {} program {} (the program gets EPERM)", identity, program.path));
    return -EPERM;
  }
  handover.machine = p_.machine.options();
  handover.inherited = inheritance();
  return 0;
}

int64_t ExecCalls::call(const SystemCall& call) {
  Machine& machine = p_.machine;
  Handover handover;
  if (int64_t error = prepare(call, handover)) return error;
  // A signal that has been received would be lost with this program; those that the kernel holds back find
  // the next one.
  block_asynchronous();
  if (machine.current().pending) return kNotStarted;
  p_.affinity.unpin(machine.current().id);
  p_.futexes.release_shared();
  p_.memory.hand_back();
  p_.listener.before_exec(machine, call, handover);
  int64_t result = exec_rdb(handover);
  p_.listener.on_exec_failure(machine, result);
  machine.set_mask(machine.mask());
  return result;
}

} // namespace rdb::guest
