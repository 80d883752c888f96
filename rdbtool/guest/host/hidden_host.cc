// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/host/hidden_host.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/calls/open_call.h"
#include "rdbtool/guest/calls/refused_calls.h"
#include "rdbtool/guest/host/guest_limits.h"
#include "rdbtool/guest/host/host_descriptors.h"
#include "rdbtool/guest/host/proc_identity.h"
#include "rdbtool/guest/host/proc_text.h"
#include "rdbtool/guest/memory/guest_strings.h"
#include "rdbtool/guest/memory/stack_limit.h"
#include "rdbtool/guest/process/machine.h"
#include "rdbtool/guest/process/process_listener.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace rdb::guest {
namespace {

constexpr int kSetMdwe = 65;
constexpr int kGetMdwe = 66;
constexpr int kGetAuxv = 0x41555856;
constexpr uint64_t kRefuseExecGain = 1; // PR_MDWE_REFUSE_EXEC_GAIN

std::optional<int> number_of(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::byte> bytes_of(const void* data, size_t size) {
  const auto* begin = static_cast<const std::byte*>(data);
  return {begin, begin + size};
}

// Takes "." and ".." and double slashes out of an absolute path.
std::vector<std::string> components(const std::string& path) {
  std::vector<std::string> result;
  for (size_t at = 0; at < path.size();) {
    size_t end = std::min(path.find('/', at), path.size());
    std::string part = path.substr(at, end - at);
    if (part == ".." && !result.empty())
      result.pop_back();
    else if (!part.empty() && part != "." && part != "..")
      result.push_back(part);
    at = end + 1;
  }
  return result;
}

bool opens(const SystemCall& call) {
  return properties_of(call.number).opens;
}

// Whether the call concerns a symbolic link itself.
bool leaves_links(AddressSpace& space, const SystemCall& call) {
  if (call.number == SYS_lstat) return true;
  if (opens(call)) return open_flags(call, space) & O_NOFOLLOW;
  const SyscallInfo* info = find_syscall(static_cast<uint64_t>(call.number));
  for (unsigned i = 0; i < info->arg_count; ++i)
    if (info->args[i].names == NameSet::at_flags) return call.arguments[i] & AT_SYMLINK_NOFOLLOW;
  return false;
}

} // namespace

HiddenHost::~HiddenHost() {
  for (const auto& [thread, redirection] : redirections_)
    if (redirection.text_fd >= 0) close_own_descriptor(redirection.text_fd);
}

// The thread's last call is over.
void HiddenHost::end_redirection() {
  auto last = redirections_.find(machine_.current().id.value);
  if (last == redirections_.end()) return;
  if (last->second.text_fd >= 0) close_own_descriptor(last->second.text_fd);
  redirections_.erase(last);
}

std::optional<ComputedAnswer> HiddenHost::answer(SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  end_redirection();
  if (std::any_of(a.begin(), a.end(), [](uint64_t v) { return is_own_descriptor(static_cast<int>(v)); })) {
    const SyscallInfo* info = find_syscall(static_cast<uint64_t>(call.number));
    for (unsigned i = 0; info != nullptr && i < info->arg_count; ++i) {
      bool descriptor = info->args[i].kind == ArgKind::fd || info->args[i].kind == ArgKind::dir_fd;
      if (descriptor && is_own_descriptor(static_cast<int>(a[i]))) return ComputedAnswer{-EBADF, {}};
    }
  }
  switch (call.number) {
  case SYS_close_range:
    return close_descriptors(call);
  case SYS_getdents:
  case SYS_getdents64:
    return list_descriptors(call);
  case SYS_chdir:
  case SYS_fchdir:
    working_directory_known_ = false;
    return std::nullopt;
  case SYS_getrlimit:
  case SYS_setrlimit:
  case SYS_prlimit64:
    return answer_limits(call);
  case SYS_prctl:
    return answer_prctl(call);
  default:
    if (properties_of(call.number).looks_up) return answer_path(call);
    return std::nullopt;
  }
}

// What the kernel sees are the pieces between the host's descriptors.
std::optional<ComputedAnswer> HiddenHost::close_descriptors(const SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  auto first = static_cast<unsigned>(a[0]);
  auto last = static_cast<unsigned>(a[1]);
  if (first > last || a[2] & ~6ull) return ComputedAnswer{-EINVAL, {}};
  int64_t result = 0;
  while (first <= last && result == 0) {
    int own = first <= INT_MAX ? next_own_descriptor(static_cast<int>(first)) : -1;
    unsigned end = own >= 0 && static_cast<unsigned>(own) <= last ? static_cast<unsigned>(own) : last + 1;
    if (end != first) result = raw_syscall(SYS_close_range, first, end - 1, static_cast<int64_t>(a[2]));
    if (end == 0 || end > last) break;
    first = end + 1;
  }
  return ComputedAnswer{result, {}};
}

// Puts the directory's path before a relative one, if that directory is in /proc.
bool HiddenHost::directory_in_proc(int directory, std::string& path) {
  std::string link = "/proc/self/cwd";
  if (directory == AT_FDCWD) {
    if (working_directory_known_ && !working_directory_in_proc_) return false;
  } else {
    struct statfs info;
    if (fstatfs(directory, &info) != 0 || info.f_type != PROC_SUPER_MAGIC) return false;
    link = "/proc/self/fd/" + std::to_string(directory);
  }
  char target[PATH_MAX];
  ssize_t n = ::readlink(link.c_str(), target, sizeof target);
  std::string base(target, n > 0 ? static_cast<size_t>(n) : 0);
  bool in_proc = base.starts_with("/proc/");
  if (directory == AT_FDCWD) {
    working_directory_known_ = true;
    working_directory_in_proc_ = in_proc;
  }
  path = base + "/" + path;
  return in_proc;
}

std::optional<HiddenHost::ProcEntry> HiddenHost::entry_of(int directory, const std::string& path) {
  std::string whole = path;
  if (path.empty()) return std::nullopt;
  if (path[0] == '/') {
    if (path.find("proc") == std::string::npos) return std::nullopt;
  } else if (!directory_in_proc(directory, whole)) {
    return std::nullopt;
  }
  std::vector<std::string> parts = components(whole);
  if (parts.size() < 3 || parts[0] != "proc") return std::nullopt;
  ProcEntry entry;
  entry.pid = machine_.identity().pid;
  if (parts[1] != "self" && parts[1] != "thread-self") {
    std::optional<int> pid = number_of(parts[1]);
    if (!pid) return std::nullopt;
    entry.pid = *pid;
  }
  size_t begin = 2;
  if (parts[2] == "task" && parts.size() > 4) begin = 4;
  for (size_t i = begin; i < parts.size(); ++i)
    entry.name += (i == begin ? "" : "/") + parts[i];
  return entry;
}

std::optional<std::string> HiddenHost::program_at(const ProcEntry& entry) {
  if (entry.name != "exe") return std::nullopt;
  if (entry.pid == machine_.identity().pid) return machine_.identity().program;
  return program_of_other(entry.pid);
}

std::string HiddenHost::program_path(int directory, const std::string& path) {
  std::optional<ProcEntry> entry = entry_of(directory, path);
  return entry ? program_at(*entry).value_or(path) : path;
}

std::optional<ComputedAnswer> HiddenHost::answer_path(SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  const CallProperties& properties = properties_of(call.number);
  std::string path;
  if (!read_string(machine_.space(), a[static_cast<size_t>(properties.path_arg)], path))
    return std::nullopt; // the kernel says why
  int directory = properties.directory_arg == kNoArgument
                      ? AT_FDCWD
                      : static_cast<int>(a[static_cast<size_t>(properties.directory_arg)]);
  std::optional<ProcEntry> entry = entry_of(directory, path);
  if (!entry) return std::nullopt;
  if (std::optional<std::string> program = program_at(*entry)) return answer_program_link(call, *program);
  if (entry->pid != machine_.identity().pid) return answer_other_process(call, *entry);
  if (entry->name.starts_with("fd/") || entry->name.starts_with("fdinfo/"))
    return answer_descriptor(entry->name);
  return answer_own_file(call, entry->name);
}

// The path of a call becomes another one.
void HiddenHost::redirect(SystemCall& call, const std::string& other) {
  std::string& path = redirections_[machine_.current().id.value].path;
  path = other;
  call.arguments[static_cast<size_t>(properties_of(call.number).path_arg)] =
      reinterpret_cast<uint64_t>(path.c_str());
}

// /proc/PID/exe leads to the guest's program, not to rdb.
std::optional<ComputedAnswer> HiddenHost::answer_program_link(SystemCall& call, const std::string& program) {
  const SyscallArgs& a = call.arguments;
  if (call.number != SYS_readlink && call.number != SYS_readlinkat) {
    if (!leaves_links(machine_.space(), call)) redirect(call, program);
    return std::nullopt;
  }
  auto path_index = static_cast<size_t>(properties_of(call.number).path_arg);
  size_t room = a[path_index + 2];
  if (static_cast<int>(room) <= 0) return ComputedAnswer{-EINVAL, {}};
  std::string name = shown_name(program);
  size_t length = std::min(name.size(), room);
  return ComputedAnswer{static_cast<int64_t>(length),
                        {{GuestAddr(a[path_index + 1]), bytes_of(name.data(), length)}}};
}

// Memory of a process that runs under rdb is not to be written past rdb.
std::optional<ComputedAnswer> HiddenHost::answer_other_process(const SystemCall& call,
                                                               const ProcEntry& entry) {
  bool changes =
      entry.name == "mem" && opens(call) && (open_flags(call, machine_.space()) & O_ACCMODE) != O_RDONLY;
  if (!changes || !program_of_other(entry.pid)) return std::nullopt;
  refusals_.tell(
      "opening /proc/PID/mem of a process that runs under rdb for writing (the program gets EACCES)");
  return ComputedAnswer{-EACCES, {}};
}

// A descriptor of the host is not there.
std::optional<ComputedAnswer> HiddenHost::answer_descriptor(std::string_view name) {
  std::optional<int> fd = number_of(name.substr(name.find('/') + 1));
  if (fd && is_own_descriptor(*fd)) return ComputedAnswer{-ENOENT, {}};
  return std::nullopt;
}

// A file of the process itself, whose text would show the host: the call opens another text, or is refused.
std::optional<ComputedAnswer> HiddenHost::answer_own_file(SystemCall& call, const std::string& name) {
  if (!opens(call)) return std::nullopt;
  uint64_t flags = open_flags(call, machine_.space());
  bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (name == "mem" && writes) {
    refusals_.tell("opening /proc/self/mem for writing (the program gets EACCES)");
    return ComputedAnswer{-EACCES, {}};
  }
  if (name == "smaps" || name == "smaps_rollup" || name == "numa_maps" || name.starts_with("map_files")) {
    refusals_.tell("/proc/self/" + name + " (the program gets EACCES)");
    return ComputedAnswer{-EACCES, {}};
  }
  if (flags & O_PATH || writes) return std::nullopt;
  std::optional<std::string> text = proc_text(machine_, program_, limits_, name);
  return text ? open_text(call, *text) : std::nullopt;
}

// The call opens a file that holds this text. The file stays until the thread's next call.
std::optional<ComputedAnswer> HiddenHost::open_text(SystemCall& call, const std::string& text) {
  int fd = memfd_create("proc", MFD_CLOEXEC);
  if (fd < 0) return ComputedAnswer{-errno, {}};
  if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    close(fd);
    return ComputedAnswer{-ENOMEM, {}};
  }
  fchmod(fd, 0444);
  int& text_fd = redirections_[machine_.current().id.value].text_fd;
  text_fd = move_out_of_reach(fd);
  redirect(call, "/proc/self/fd/" + std::to_string(text_fd));
  // This path is a link.
  if (call.number == SYS_open) call.arguments[1] &= ~static_cast<uint64_t>(O_NOFOLLOW);
  if (call.number == SYS_openat) call.arguments[2] &= ~static_cast<uint64_t>(O_NOFOLLOW);
  return std::nullopt;
}

std::optional<ComputedAnswer> HiddenHost::answer_limits(const SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  bool prlimit = call.number == SYS_prlimit64;
  int resource = static_cast<int>(a[prlimit ? 1 : 0]);
  if (prlimit && a[0] != 0 && static_cast<int>(a[0]) != machine_.identity().pid) return std::nullopt;
  if (!GuestLimits::keeps(resource)) return std::nullopt;
  uint64_t fresh = prlimit ? a[2] : call.number == SYS_setrlimit ? a[1] : 0;
  uint64_t old = prlimit ? a[3] : call.number == SYS_getrlimit ? a[1] : 0;
  rlimit before = limits_.get(resource);
  ComputedAnswer answer;
  if (fresh != 0 || call.number == SYS_setrlimit) {
    rlimit limit;
    if (machine_.space().read(GuestAddr(fresh), &limit, sizeof limit) != sizeof limit)
      return ComputedAnswer{-EFAULT, {}};
    answer.result = limits_.set(resource, limit);
    if (answer.result != 0) return answer;
    if (resource == RLIMIT_STACK)
      if (std::optional<MadeCall> made = fit_stack(machine_.space(), limit.rlim_cur))
        listener_.on_remapping(machine_, made->call, made->result);
  }
  if (old != 0 || call.number == SYS_getrlimit)
    answer.writes.push_back({GuestAddr(old), bytes_of(&before, sizeof before)});
  return answer;
}

std::optional<ComputedAnswer> HiddenHost::answer_prctl(const SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  switch (static_cast<int>(a[0])) {
  case kSetMdwe:
    if (a[1] & ~3ull || a[2] != 0 || a[3] != 0 || a[4] != 0 || a[1] == 2) return ComputedAnswer{-EINVAL, {}};
    if (deny_write_execute_ != 0 && deny_write_execute_ != a[1]) return ComputedAnswer{-EPERM, {}};
    deny_write_execute_ = a[1];
    return ComputedAnswer{0, {}};
  case kGetMdwe:
    if (a[1] != 0 || a[2] != 0 || a[3] != 0 || a[4] != 0) return ComputedAnswer{-EINVAL, {}};
    return ComputedAnswer{static_cast<int64_t>(deny_write_execute_), {}};
  case PR_SET_PDEATHSIG:
    death_signal_is_guests_ = true;
    return std::nullopt;
  case PR_GET_PDEATHSIG: {
    if (death_signal_is_guests_) return std::nullopt;
    int none = 0;
    return ComputedAnswer{0, {{GuestAddr(a[1]), bytes_of(&none, sizeof none)}}};
  }
  case PR_GET_TSC: {
    int enabled = PR_TSC_ENABLE;
    return ComputedAnswer{0, {{GuestAddr(a[1]), bytes_of(&enabled, sizeof enabled)}}};
  }
  case PR_SET_TSC:
    if (a[1] == PR_TSC_ENABLE) return ComputedAnswer{0, {}};
    refusals_.tell("prctl(PR_SET_TSC) that forbids rdtsc (the program gets EINVAL)");
    return ComputedAnswer{-EINVAL, {}};
  case kGetAuxv: {
    if (a[3] != 0 || a[4] != 0) return ComputedAnswer{-EINVAL, {}};
    std::string auxv = *proc_text(machine_, program_, limits_, "auxv");
    size_t length = std::min<size_t>(auxv.size(), a[2]);
    return ComputedAnswer{static_cast<int64_t>(auxv.size()),
                          {{GuestAddr(a[1]), bytes_of(auxv.data(), length)}}};
  }
  default:
    return std::nullopt;
  }
}

bool HiddenHost::refuses_execution(const AddressSpace& space, const SystemCall& call) const {
  if (!(deny_write_execute_ & kRefuseExecGain)) return false;
  const SyscallArgs& a = call.arguments;
  if (call.number != SYS_mmap && call.number != SYS_mprotect && call.number != SYS_pkey_mprotect)
    return false;
  if (!(a[2] & PROT_EXEC)) return false;
  if (a[2] & PROT_WRITE) return true;
  if (call.number == SYS_mmap) return false;
  for (uint64_t at = a[0]; at < a[0] + a[1];) {
    const Mapping* mapping = space.find(at);
    if (mapping == nullptr) return false;
    if (!(mapping->protection & PROT_EXEC)) return true;
    at = mapping->end;
  }
  return false;
}

std::optional<ComputedAnswer> HiddenHost::list_descriptors(const SystemCall& call) {
  const SyscallArgs& a = call.arguments;
  auto fd = static_cast<int>(a[0]);
  struct statfs info;
  if (fstatfs(fd, &info) != 0 || info.f_type != PROC_SUPER_MAGIC) return std::nullopt;
  char target[PATH_MAX];
  ssize_t n = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
  std::string_view name(target, n > 0 ? static_cast<size_t>(n) : 0);
  if (!name.ends_with("/fd") && !name.ends_with("/fdinfo")) return std::nullopt;

  // Both calls give records of d_ino, d_off, d_reclen; the name follows, in one of them after the type.
  const size_t name_offset = call.number == SYS_getdents64 ? 19 : 18;
  std::vector<std::byte> buffer(std::min<size_t>(a[2], 1u << 20));
  std::vector<std::byte> kept;
  int64_t result;
  do {
    result = raw_syscall(call.number, fd, reinterpret_cast<int64_t>(buffer.data()),
                         static_cast<int64_t>(buffer.size()));
    for (size_t at = 0; result > 0 && at < static_cast<size_t>(result);) {
      uint16_t length;
      std::memcpy(&length, buffer.data() + at + 16, sizeof length);
      std::optional<int> entry = number_of(reinterpret_cast<const char*>(buffer.data() + at + name_offset));
      if (!entry || !is_own_descriptor(*entry))
        kept.insert(kept.end(), buffer.begin() + static_cast<ptrdiff_t>(at),
                    buffer.begin() + static_cast<ptrdiff_t>(at + length));
      at += length;
    }
  } while (result > 0 && kept.empty());
  if (result < 0) return ComputedAnswer{result, {}};
  ComputedAnswer answer{static_cast<int64_t>(kept.size()), {}};
  if (!kept.empty()) answer.writes.push_back({GuestAddr(a[1]), std::move(kept)});
  return answer;
}

} // namespace rdb::guest
