// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// New processes and new programs. A forked child goes on under the engine by itself; execve starts rdb again
// with the program's words and environment handed over in a memory file, so that nothing of the guest's
// environment acts on the host.
#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/host/privileges.h"
#include "rdbtool/guest/memory/guest_strings.h"
#include "rdbtool/guest/memory/vfork_memory.h"
#include "rdbtool/guest/process/handover.h"
#include "rdbtool/guest/process/process.h"
#include "rdbtool/guest/signals/block_signals.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/limits.h>
#include <memory>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

// The file that a child by vfork has mapped, and that this process may not have open.
int open_again(const VforkMemory::Call& made) {
  bool writes = made.call.arguments[3] & MAP_SHARED && made.call.arguments[2] & PROT_WRITE;
  int fd = open(made.file.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0 || info.st_dev != made.device || info.st_ino != made.inode)
    limit("a child by vfork that maps a file which has no name any more: {}", made.file);
  return fd;
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

bool Process::can_write_word(GuestAddr to) {
  uint32_t value;
  return read_memory(to, &value, 4) && space().write(to, &value, 4) == 4;
}

// The error that the kernel has for arguments of clone which it is not given as they are. What it checks when
// it makes the process is left to it.
int Process::check_clone(const SyscallArgs& arguments) {
  uint64_t flags = arguments[0];
  auto all = [&](uint64_t these) { return (flags & these) == these; };
  bool bad_sharing = all(CLONE_NEWNS | CLONE_FS) || all(CLONE_NEWUSER | CLONE_FS) ||
                     (flags & CLONE_THREAD && !(flags & CLONE_SIGHAND)) ||
                     (flags & CLONE_SIGHAND && !(flags & CLONE_VM)) ||
                     (flags & CLONE_THREAD && flags & (CLONE_NEWUSER | CLONE_NEWPID));
  // A descriptor and a number would go to the same word.
  bool bad_descriptor = flags & CLONE_PIDFD && flags & (CLONE_PARENT_SETTID | CLONE_DETACHED);
  if (bad_sharing || bad_descriptor) return -EINVAL;
  if (flags & CLONE_SETTLS && arguments[4] >= kTaskSize) return -EPERM;
  if (flags & CLONE_PIDFD && !can_write_word(GuestAddr(arguments[2]))) return -EFAULT;
  return 0;
}

int64_t Process::sys_clone(const SystemCall& call) {
  engine::Registers& regs = registers();
  uint64_t flags = SIGCHLD;
  if (call.number == SYS_vfork) flags |= CLONE_VM | CLONE_VFORK;
  if (call.number == SYS_clone) flags = static_cast<uint32_t>(call.arguments[0]);
  GuestAddr parent_word(call.arguments[2]);
  GuestAddr child_word(call.arguments[3]);
  if (flags & CLONE_VM && !(flags & CLONE_VFORK))
    limit("a process that shares its parent's memory (clone at {:#x})", regs.rip - 2);
  if (flags & CLONE_FILES)
    limit("a process that shares its parent's descriptors (clone at {:#x})", regs.rip - 2);

  // No signal may fall between the two.
  block_asynchronous();
  if (current().pending) {
    outside_.called(*this, call, kNotStarted);
    return kNotStarted; // the mask is opened when the signal has been delivered
  }
  std::unique_ptr<VforkMemory> shared;
  if (flags & CLONE_VM) shared = std::make_unique<VforkMemory>();
  outside_.before_fork(*this);
  // The child gets a copy of everything, rdb included. What the kernel would write to guest memory comes here
  // first.
  constexpr uint64_t kOurs =
      CLONE_VM | CLONE_SIGHAND | CLONE_SETTLS | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  int word = 0;
  // Nobody else may be in the middle of something that the child will need.
  os_threads_.collect();
  scheduler_.lock();
  int64_t result =
      raw_syscall(SYS_clone, static_cast<int64_t>(flags & ~kOurs), 0, reinterpret_cast<int64_t>(&word), 0, 0);
  scheduler_.unlock();
  VforkMemory* of_child = result > 0 ? shared.get() : nullptr;
  Answer answer{result, {}};
  auto put = [&](GuestAddr to, const int& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    answer.writes.push_back({to, {bytes, bytes + sizeof value}});
  };
  if (result == 0) {
    int pid = getpid();
    bool was_init = is_init();
    set_identity({identity().program, pid});
    // What a signal without a handler does is another thing for the first process of a PID namespace.
    for (int signal = 1; was_init != is_init() && signal <= 64; ++signal)
      on_action(signal);
    after_fork_in_child();
    if (!shared) space().after_fork();
    vfork_parent_ = std::move(shared);
    shares_actions_ = flags & CLONE_SIGHAND;
    outside_.after_fork(*this, result);
    if (flags & CLONE_CHILD_SETTID && can_write_word(child_word)) put(child_word, pid);
  } else {
    outside_.after_fork(*this, result);
    if (result > 0 && flags & (CLONE_PARENT_SETTID | CLONE_PIDFD) && can_write_word(parent_word))
      put(parent_word, word);
  }
  outside_.answered(*this, call, answer);
  // Now, not before: what comes before the call is the child's, too.
  if (of_child != nullptr) take_from_child(*of_child);
  if (result == 0) begin_child(call);
  set_mask(mask());
  return result;
}

// What a child by vfork has changed is so here.
void Process::take_from_child(VforkMemory& child) {
  for (const VforkMemory::Call& made : child.calls()) {
    SystemCall call = made.call;
    std::string file = made.file;
    int fd = file.empty() ? -1 : open_again(made);
    if (fd >= 0) call.arguments[4] = static_cast<uint64_t>(fd);
    int64_t result = space().call(call.number, call.arguments).value_or(-EINVAL);
    if (result != made.result)
      limit("a child by vfork that changes mappings (system call {}): its parent gets {:#x} and not {:#x}",
            call.number, result, made.result);
    if (fd >= 0 || call.number == SYS_shmat)
      outside_.mapped(*this, *space().find(static_cast<uint64_t>(result)), fd);
    else
      outside_.remapped(*this, call, result);
    if (fd >= 0) close(fd);
  }
  for (const Answer::Write& write : child.take(space())) {
    if (space().change(write.to, write.bytes.data(), write.bytes.size()) != write.bytes.size())
      bug("what a child by vfork has written to {:#x} could not be put there", write.to.value);
    outside_.wrote(*this, write.to, write.bytes.data(), write.bytes.size());
  }
}

Inherited Process::inheritance() const {
  Inherited result;
  result.known = true;
  result.mask = mask();
  for (size_t i = 0; i < result.limits.size(); ++i)
    result.limits[i] = limits_.get(GuestLimits::kKept[i]);
  constexpr uint64_t kNotInherited = 2; // PR_MDWE_NO_INHERIT
  if (!(hidden_host_.deny_write_execute() & kNotInherited))
    result.deny_write_execute = hidden_host_.deny_write_execute();
  result.death_signal_is_guests = hidden_host_.death_signal_is_guests();
  result.filters = seccomp_.programs();
  return result;
}

int64_t Process::sys_execve(const SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  bool at = call.number == SYS_execveat;
  uint64_t path = a[at ? 1 : 0];
  uint64_t argv = a[at ? 2 : 1];
  uint64_t environment = a[at ? 3 : 2];
  int directory_fd = at ? static_cast<int>(a[0]) : AT_FDCWD;
  uint64_t flags = at ? a[4] : 0;
  Handover handover;
  std::string name;
  if (!read_string(space(), path, name) || !read_strings(space(), argv, handover.argv) ||
      !read_strings(space(), environment, handover.environment))
    return -EFAULT;
  if (name.empty() && !(flags & AT_EMPTY_PATH)) return -ENOENT;
  if (int error = check_size(handover, limits_.get(RLIMIT_STACK).rlim_cur)) return error;
  if (handover.argv.empty()) handover.argv.emplace_back();
  if (directory_fd != AT_FDCWD && (name.empty() || name[0] != '/'))
    name = "/proc/self/fd/" + std::to_string(directory_fd) + (name.empty() ? "" : "/" + name);
  name = hidden_host_.program_path(*this, AT_FDCWD, name);
  name = lasting_path(name, handover);
  Program program;
  if (int error = resolve_program(name, handover.argv, program)) return error;
  if (changes_identity(program.path)) {
    refusals_.tell(
        fmt::format("execve of the set-user-id program {} (the program gets EPERM)", program.path));
    return -EPERM;
  }
  handover.path = name;
  handover.machine = options();
  handover.inherited = inheritance();
  // A signal that has been received would be lost with this program; those that the kernel holds back find
  // the next one.
  block_asynchronous();
  if (current().pending) return kNotStarted;
  affinity_.unpin(current().id);
  release_shared_locks();
  if (vfork_parent_) vfork_parent_->hand_back(space());
  outside_.before_exec(*this, call, handover);
  int64_t result = exec_rdb(handover);
  outside_.exec_failed(*this, result);
  set_mask(mask());
  return result;
}

} // namespace rdb::guest
