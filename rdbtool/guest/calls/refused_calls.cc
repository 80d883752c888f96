// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/calls/refused_calls.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/base/visible_text.h"
#include "rdbtool/guest/host/host_descriptors.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/prctl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

namespace rdb::guest {
namespace {

bool g_tell_harmless = false;

bool is_open(int fd) {
  int64_t flags = raw_syscall(SYS_fcntl, fd, F_GETFL);
  return flags >= 0 && !(flags & O_PATH);
}

struct stat file_behind(int fd) {
  struct stat file{};
  raw_syscall(SYS_fstat, fd, reinterpret_cast<int64_t>(&file));
  return file;
}

bool exists(uint64_t process) {
  return raw_syscall(SYS_kill, static_cast<int32_t>(process), 0) != -ESRCH;
}

// Other numbers stand for groups of processes where a signal is sent, and for nothing elsewhere.
bool is_process(uint64_t number) {
  return static_cast<int32_t>(number) > 0 && exists(number);
}

int ioctl_error(int fd, uint32_t request, int otherwise) {
  struct stat file = file_behind(fd);
  constexpr unsigned kConsoles = 4; // major number
  bool is_console = S_ISCHR(file.st_mode) && major(file.st_rdev) == kConsoles;
  if (request == SIOCETHTOOL && !S_ISSOCK(file.st_mode)) return ENOTTY;
  if (request == TIOCLINUX && !is_console) return ENOTTY;
  return otherwise;
}

// What the kernel says of the option without a value: there is none it could set or get.
int socket_option_error(int64_t number, const SyscallArgs& a, int otherwise) {
  if (!S_ISSOCK(file_behind(static_cast<int>(a[0])).st_mode)) return ENOTSOCK;
  int64_t result = raw_syscall(number, static_cast<int32_t>(a[0]), static_cast<int32_t>(a[1]),
                               static_cast<int32_t>(a[2]), 0, 0);
  constexpr int64_t kFirst[] = {-ENOPROTOOPT, -EOPNOTSUPP, -EPERM};
  bool is_first = std::find(std::begin(kFirst), std::end(kFirst), result) != std::end(kFirst);
  return is_first ? static_cast<int>(-result) : otherwise;
}

int set_mm_error(const SyscallArgs& a, int otherwise) {
  bool takes_size = a[1] == PR_SET_MM_AUXV || a[1] == PR_SET_MM_MAP || a[1] == PR_SET_MM_MAP_SIZE;
  return a[4] != 0 || (a[3] != 0 && !takes_size) ? EINVAL : otherwise;
}

} // namespace

int error_of_refused(const CallShape& shape, const SyscallArgs& a, AddressSpace& space) {
  int otherwise = shape.error;
  auto fd = static_cast<int>(a[0]);
  int64_t number = shape.info->number;
  switch (number) {
  case SYS_ioctl:
    return is_open(fd) ? ioctl_error(fd, static_cast<uint32_t>(a[1]), otherwise) : EBADF;
  case SYS_fcntl:
    return is_open(fd) ? otherwise : EBADF;
  case SYS_getsockopt:
  case SYS_setsockopt:
    return is_open(fd) ? socket_option_error(number, a, otherwise) : EBADF;
  case SYS_prctl:
    return a[0] == PR_SET_MM ? set_mm_error(a, otherwise) : otherwise;
  case SYS_ptrace:
    return a[0] != PTRACE_TRACEME && !is_process(a[1]) ? ESRCH : otherwise;
  case SYS_process_vm_writev:
    return a[5] != 0 ? EINVAL : is_process(a[0]) ? otherwise : ESRCH;
  case SYS_pkey_alloc: {
    constexpr uint64_t kRights = 3; // PKEY_DISABLE_ACCESS, PKEY_DISABLE_WRITE
    return a[0] != 0 || a[1] & ~kRights ? EINVAL : otherwise;
  }
  case SYS_iopl:
    return static_cast<uint32_t>(a[0]) > 3 ? EINVAL : static_cast<uint32_t>(a[0]) == 0 ? 0 : otherwise;
  case SYS_ioperm: {
    constexpr uint64_t kPorts = 65536;
    if (a[0] + a[1] <= a[0] || a[0] + a[1] > kPorts) return EINVAL;
    return static_cast<int>(a[2]) == 0 ? 0 : otherwise;
  }
  case SYS_perf_event_open: {
    constexpr uint64_t kFlags = 0xF;
    uint64_t head;
    if (a[4] & ~kFlags) return EINVAL;
    return space.read(GuestAddr(a[0]), &head, sizeof head) == sizeof head ? otherwise : EFAULT;
  }
  default:
    return otherwise; // mostly ENOSYS: a kernel without the call looks at nothing
  }
}

bool is_harmless(const CallShape& shape) {
  return shape.info->properties.is_harmless || (shape.variant != nullptr && shape.variant->is_harmless);
}

void tell_harmless(bool tell) {
  g_tell_harmless = tell;
}

bool tells_harmless() {
  return g_tell_harmless;
}

void Refusals::tell(const std::string& refused) {
  if (!told_.insert(refused).second) return;
  std::string line = "rdb: not supported: " + visible_text(refused) + "\n";
  raw_syscall(SYS_write, own_error_stream(), reinterpret_cast<int64_t>(line.data()),
              static_cast<int64_t>(line.size()));
}

void Refusals::tell_call(const CallShape& shape, const SyscallArgs& arguments) {
  const SyscallInfo& info = *shape.info;
  // The C library tries these in every program, and knows what to do without.
  if (info.number == SYS_rseq || info.number == SYS_clone3) return;
  if (is_harmless(shape) && !tells_harmless()) return;
  std::string name = info.name;
  if (shape.variant != nullptr)
    name += fmt::format(" {}", shape.variant->name);
  else if (info.has_variants)
    name += fmt::format(" {:#x}", arguments[info.variants->selector_arg]);
  const char* error = strerrorname_np(shape.error);
  tell(fmt::format("the system call {} (the program gets {})", name, error == nullptr ? "0" : error));
}

} // namespace rdb::guest
