// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables of names. A set of flags may begin with a field that is a choice, such as the access mode of
// open.
#include "rdbtool/syscalls/value_names.h"

#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <signal.h>
#include <span>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace rdb {
namespace {

struct Name {
  uint64_t value;
  const char* text;
};

struct Names {
  std::span<const Name> names;
  uint64_t choice_mask = 0; // the bits that are one choice among names rather than flags
};

#define RDB_NAME(constant) {static_cast<uint32_t>(constant), #constant}

constexpr Name kOpenFlags[] = {
    RDB_NAME(O_RDONLY),   RDB_NAME(O_WRONLY),       RDB_NAME(O_RDWR),    RDB_NAME(O_CREAT),
    RDB_NAME(O_EXCL),     RDB_NAME(O_NOCTTY),       RDB_NAME(O_TRUNC),   RDB_NAME(O_APPEND),
    RDB_NAME(O_NONBLOCK), RDB_NAME(O_SYNC),         RDB_NAME(O_DSYNC),   RDB_NAME(O_ASYNC),
    RDB_NAME(O_DIRECT),   {0100000, "O_LARGEFILE"}, RDB_NAME(O_TMPFILE), RDB_NAME(O_DIRECTORY),
    RDB_NAME(O_NOFOLLOW), RDB_NAME(O_NOATIME),      RDB_NAME(O_CLOEXEC), RDB_NAME(O_PATH),
};
constexpr Name kAtFlags[] = {
    RDB_NAME(AT_SYMLINK_NOFOLLOW), RDB_NAME(AT_SYMLINK_FOLLOW),   RDB_NAME(AT_NO_AUTOMOUNT),
    RDB_NAME(AT_EMPTY_PATH),       RDB_NAME(AT_STATX_FORCE_SYNC), RDB_NAME(AT_STATX_DONT_SYNC),
    {0x200, "AT_EACCESS"},
};
constexpr Name kProtection[] = {
    RDB_NAME(PROT_NONE), RDB_NAME(PROT_READ),      RDB_NAME(PROT_WRITE),
    RDB_NAME(PROT_EXEC), RDB_NAME(PROT_GROWSDOWN),
};
constexpr Name kMapFlags[] = {
    RDB_NAME(MAP_SHARED),          RDB_NAME(MAP_PRIVATE),   RDB_NAME(MAP_SHARED_VALIDATE),
    RDB_NAME(MAP_FIXED),           RDB_NAME(MAP_ANONYMOUS), RDB_NAME(MAP_32BIT),
    RDB_NAME(MAP_GROWSDOWN),       RDB_NAME(MAP_DENYWRITE), RDB_NAME(MAP_LOCKED),
    RDB_NAME(MAP_NORESERVE),       RDB_NAME(MAP_POPULATE),  RDB_NAME(MAP_NONBLOCK),
    RDB_NAME(MAP_STACK),           RDB_NAME(MAP_HUGETLB),   RDB_NAME(MAP_SYNC),
    RDB_NAME(MAP_FIXED_NOREPLACE),
};
constexpr Name kSocketDomain[] = {
    RDB_NAME(AF_UNSPEC),  RDB_NAME(AF_UNIX),   RDB_NAME(AF_INET), RDB_NAME(AF_INET6),
    RDB_NAME(AF_NETLINK), RDB_NAME(AF_PACKET), RDB_NAME(AF_ALG),  RDB_NAME(AF_VSOCK),
};
constexpr Name kSocketType[] = {
    RDB_NAME(SOCK_STREAM),    RDB_NAME(SOCK_DGRAM),    RDB_NAME(SOCK_RAW),     RDB_NAME(SOCK_RDM),
    RDB_NAME(SOCK_SEQPACKET), RDB_NAME(SOCK_NONBLOCK), RDB_NAME(SOCK_CLOEXEC),
};
constexpr Name kMessageFlags[] = {
    RDB_NAME(MSG_OOB),      RDB_NAME(MSG_PEEK),         RDB_NAME(MSG_DONTROUTE), RDB_NAME(MSG_CTRUNC),
    RDB_NAME(MSG_TRUNC),    RDB_NAME(MSG_DONTWAIT),     RDB_NAME(MSG_EOR),       RDB_NAME(MSG_WAITALL),
    RDB_NAME(MSG_ERRQUEUE), RDB_NAME(MSG_NOSIGNAL),     RDB_NAME(MSG_MORE),      RDB_NAME(MSG_WAITFORONE),
    RDB_NAME(MSG_FASTOPEN), RDB_NAME(MSG_CMSG_CLOEXEC),
};
constexpr Name kSeekWhence[] = {
    RDB_NAME(SEEK_SET), RDB_NAME(SEEK_CUR), RDB_NAME(SEEK_END), RDB_NAME(SEEK_DATA), RDB_NAME(SEEK_HOLE),
};
constexpr Name kClockId[] = {
    RDB_NAME(CLOCK_REALTIME),          RDB_NAME(CLOCK_MONOTONIC),     RDB_NAME(CLOCK_PROCESS_CPUTIME_ID),
    RDB_NAME(CLOCK_THREAD_CPUTIME_ID), RDB_NAME(CLOCK_MONOTONIC_RAW), RDB_NAME(CLOCK_REALTIME_COARSE),
    RDB_NAME(CLOCK_MONOTONIC_COARSE),  RDB_NAME(CLOCK_BOOTTIME),      RDB_NAME(CLOCK_REALTIME_ALARM),
    RDB_NAME(CLOCK_BOOTTIME_ALARM),    RDB_NAME(CLOCK_TAI),
};
constexpr Name kAccessMode[] = {RDB_NAME(F_OK), RDB_NAME(R_OK), RDB_NAME(W_OK), RDB_NAME(X_OK)};
constexpr Name kWaitOptions[] = {
    RDB_NAME(WNOHANG), RDB_NAME(WUNTRACED),      RDB_NAME(WEXITED),      RDB_NAME(WCONTINUED),
    RDB_NAME(WNOWAIT), {0x80000000, "__WCLONE"}, {0x40000000, "__WALL"},
};
constexpr Name kSignalHow[] = {RDB_NAME(SIG_BLOCK), RDB_NAME(SIG_UNBLOCK), RDB_NAME(SIG_SETMASK)};
constexpr Name kFutexOp[] = {
    RDB_NAME(FUTEX_WAIT),
    RDB_NAME(FUTEX_WAKE),
    RDB_NAME(FUTEX_REQUEUE),
    RDB_NAME(FUTEX_CMP_REQUEUE),
    RDB_NAME(FUTEX_WAKE_OP),
    RDB_NAME(FUTEX_LOCK_PI),
    RDB_NAME(FUTEX_UNLOCK_PI),
    RDB_NAME(FUTEX_TRYLOCK_PI),
    RDB_NAME(FUTEX_WAIT_BITSET),
    RDB_NAME(FUTEX_WAKE_BITSET),
    RDB_NAME(FUTEX_WAIT_REQUEUE_PI),
    RDB_NAME(FUTEX_CMP_REQUEUE_PI),
    RDB_NAME(FUTEX_LOCK_PI2),
    RDB_NAME(FUTEX_PRIVATE_FLAG),
    RDB_NAME(FUTEX_CLOCK_REALTIME),
};
constexpr Name kMadvise[] = {
    RDB_NAME(MADV_NORMAL),     RDB_NAME(MADV_RANDOM),        RDB_NAME(MADV_SEQUENTIAL),
    RDB_NAME(MADV_WILLNEED),   RDB_NAME(MADV_DONTNEED),      RDB_NAME(MADV_FREE),
    RDB_NAME(MADV_REMOVE),     RDB_NAME(MADV_DONTFORK),      RDB_NAME(MADV_DOFORK),
    RDB_NAME(MADV_MERGEABLE),  RDB_NAME(MADV_UNMERGEABLE),   RDB_NAME(MADV_HUGEPAGE),
    RDB_NAME(MADV_NOHUGEPAGE), RDB_NAME(MADV_DONTDUMP),      RDB_NAME(MADV_DODUMP),
    RDB_NAME(MADV_WIPEONFORK), RDB_NAME(MADV_KEEPONFORK),    RDB_NAME(MADV_COLD),
    RDB_NAME(MADV_PAGEOUT),    RDB_NAME(MADV_POPULATE_READ), RDB_NAME(MADV_POPULATE_WRITE),
    {25, "MADV_COLLAPSE"},     {102, "MADV_GUARD_INSTALL"},  {103, "MADV_GUARD_REMOVE"},
};
constexpr Name kResource[] = {
    RDB_NAME(RLIMIT_CPU),      RDB_NAME(RLIMIT_FSIZE), RDB_NAME(RLIMIT_DATA),   RDB_NAME(RLIMIT_STACK),
    RDB_NAME(RLIMIT_CORE),     RDB_NAME(RLIMIT_RSS),   RDB_NAME(RLIMIT_NPROC),  RDB_NAME(RLIMIT_NOFILE),
    RDB_NAME(RLIMIT_MEMLOCK),  RDB_NAME(RLIMIT_AS),    RDB_NAME(RLIMIT_LOCKS),  RDB_NAME(RLIMIT_SIGPENDING),
    RDB_NAME(RLIMIT_MSGQUEUE), RDB_NAME(RLIMIT_NICE),  RDB_NAME(RLIMIT_RTPRIO), RDB_NAME(RLIMIT_RTTIME),
};
constexpr Name kSocketLevel[] = {
    {0, "SOL_IP"},    RDB_NAME(SOL_SOCKET), {6, "SOL_TCP"},       {17, "SOL_UDP"},
    {41, "SOL_IPV6"}, RDB_NAME(SOL_PACKET), {270, "SOL_NETLINK"},
};
constexpr Name kCloneFlags[] = {
    RDB_NAME(CLONE_VM),
    RDB_NAME(CLONE_FS),
    RDB_NAME(CLONE_FILES),
    RDB_NAME(CLONE_SIGHAND),
    RDB_NAME(CLONE_PIDFD),
    RDB_NAME(CLONE_PTRACE),
    RDB_NAME(CLONE_VFORK),
    RDB_NAME(CLONE_PARENT),
    RDB_NAME(CLONE_THREAD),
    RDB_NAME(CLONE_NEWNS),
    RDB_NAME(CLONE_SYSVSEM),
    RDB_NAME(CLONE_SETTLS),
    RDB_NAME(CLONE_PARENT_SETTID),
    RDB_NAME(CLONE_CHILD_CLEARTID),
    RDB_NAME(CLONE_DETACHED),
    RDB_NAME(CLONE_UNTRACED),
    RDB_NAME(CLONE_CHILD_SETTID),
    RDB_NAME(CLONE_NEWCGROUP),
    RDB_NAME(CLONE_NEWUTS),
    RDB_NAME(CLONE_NEWIPC),
    RDB_NAME(CLONE_NEWUSER),
    RDB_NAME(CLONE_NEWPID),
    RDB_NAME(CLONE_NEWNET),
    RDB_NAME(CLONE_IO),
};

#undef RDB_NAME

Names names_of(NameSet set) {
  switch (set) {
  case NameSet::none:
    return {};
  case NameSet::open_flags:
    return {kOpenFlags, O_ACCMODE};
  case NameSet::at_flags:
    return {kAtFlags};
  case NameSet::protection:
    return {kProtection};
  case NameSet::map_flags:
    return {kMapFlags, 0x0f};
  case NameSet::socket_domain:
    return {kSocketDomain};
  case NameSet::socket_type:
    return {kSocketType, 0x0f};
  case NameSet::message_flags:
    return {kMessageFlags};
  case NameSet::seek_whence:
    return {kSeekWhence};
  case NameSet::clock_id:
    return {kClockId};
  case NameSet::access_mode:
    return {kAccessMode};
  case NameSet::wait_options:
    return {kWaitOptions};
  case NameSet::signal_how:
    return {kSignalHow};
  case NameSet::futex_op:
    return {kFutexOp, 0x7f};
  case NameSet::madvise:
    return {kMadvise};
  case NameSet::resource:
    return {kResource};
  case NameSet::socket_level:
    return {kSocketLevel};
  case NameSet::clone_flags:
    return {kCloneFlags};
  }
  return {};
}

} // namespace

std::string flag_names(NameSet set, uint64_t value) {
  Names names = names_of(set);
  std::string text;
  auto add = [&](std::string_view name) {
    if (!text.empty()) text += '|';
    text += name;
  };
  // A choice of zero, such as O_RDONLY, is named too; so is a plain zero where it has a name (PROT_NONE,
  // F_OK).
  for (const Name& name : names.names) {
    bool in_choice = (name.value & ~names.choice_mask) == 0 && names.choice_mask != 0;
    if (in_choice ? (value & names.choice_mask) == name.value : name.value == 0 && value == 0) add(name.text);
  }
  uint64_t rest = value;
  if (!text.empty()) rest &= ~names.choice_mask;
  for (const Name& name : names.names) {
    if (name.value == 0 || (rest & name.value) != name.value) continue;
    if ((name.value & ~names.choice_mask) == 0) continue;
    add(name.text);
    rest &= ~name.value;
  }
  if (rest != 0) add(fmt::format("{:#x}", rest));
  return text.empty() ? "0" : text;
}

std::string choice_name(NameSet set, uint64_t value) {
  Names names = names_of(set);
  if (names.choice_mask != 0) return flag_names(set, value & 0xffffffff);
  for (const Name& name : names.names) {
    if (name.value == static_cast<uint32_t>(value)) return name.text;
  }
  return std::to_string(static_cast<int32_t>(value));
}

std::string signal_name(int signal) {
  const char* name = signal < 32 ? sigabbrev_np(signal) : nullptr;
  if (name != nullptr) return std::string("SIG") + name;
  if (signal >= 32 && signal <= 64) return fmt::format("SIGRT_{}", signal - 32);
  return std::to_string(signal);
}

std::string errno_name(int error) {
  const char* name = strerrorname_np(error);
  return name != nullptr ? name : std::to_string(error);
}

} // namespace rdb
