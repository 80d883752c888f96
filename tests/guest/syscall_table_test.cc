// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of system calls is complete and well-formed, and its sizes are those of the C library's types.
#include "rdbtool/syscalls/table.h"
#include "rdbtool/syscalls/variants.h"
#include "syscall_numbers.inc" // made from <asm/unistd_64.h>: kHeaderNumbers

#include <algorithm>
#include <cerrno>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <mqueue.h>
#include <poll.h>
#include <set>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/utsname.h>

namespace rdb {
namespace {

TEST(SyscallTable, HasEveryCallOfTheHeader) {
  ASSERT_GT(std::size(kHeaderNumbers), 300u);
  for (const auto& [name, number] : kHeaderNumbers) {
    const SyscallInfo* info = find_syscall(number);
    ASSERT_NE(info, nullptr) << name;
    EXPECT_STREQ(info->name, name);
  }
}

TEST(SyscallTable, HasTheCallsOfNewerKernels) {
  const std::pair<unsigned, const char*> newer[] = {
      {335, "uretprobe"},         {336, "uprobe"},
      {451, "cachestat"},         {452, "fchmodat2"},
      {453, "map_shadow_stack"},  {454, "futex_wake"},
      {455, "futex_wait"},        {456, "futex_requeue"},
      {457, "statmount"},         {458, "listmount"},
      {459, "lsm_get_self_attr"}, {460, "lsm_set_self_attr"},
      {461, "lsm_list_modules"},  {462, "mseal"},
      {463, "setxattrat"},        {464, "getxattrat"},
      {465, "listxattrat"},       {466, "removexattrat"},
      {467, "open_tree_attr"},    {468, "file_getattr"},
      {469, "file_setattr"},
  };
  for (const auto& [number, name] : newer) {
    ASSERT_NE(find_syscall(number), nullptr) << name;
    EXPECT_STREQ(find_syscall(number)->name, name);
  }
}

TEST(SyscallTable, DoesNotKnowOtherNumbers) {
  for (uint64_t number :
       {uint64_t{337}, uint64_t{423}, uint64_t{500}, uint64_t{511}, uint64_t{512}, ~uint64_t{0}}) {
    EXPECT_EQ(find_syscall(number), nullptr) << number;
    EXPECT_FALSE(call_traits(number).known) << number;
    EXPECT_FALSE(needs_redirect(number)) << number;
  }
}

bool is_value(ArgKind kind) {
  return kind >= ArgKind::integer && kind <= ArgKind::choice;
}

bool counts_behind_a_pointer(ArgKind kind) {
  return kind == ArgKind::update_by_length || kind == ArgKind::sockaddr;
}

bool is_counted(ArgKind kind) {
  switch (kind) {
  case ArgKind::in_bytes:
  case ArgKind::in_text:
  case ArgKind::iovec_in:
  case ArgKind::out_result:
  case ArgKind::out_records:
  case ArgKind::out_text:
  case ArgKind::iovec_out:
  case ArgKind::update_array:
  case ArgKind::update_bits:
  case ArgKind::update_pages:
  case ArgKind::update_message:
  case ArgKind::mmsghdr:
  case ArgKind::xattr_args:
    return true;
  default:
    return false;
  }
}

bool needs_size(ArgKind kind) {
  return (is_counted(kind) && kind != ArgKind::update_bits) || kind == ArgKind::in || kind == ArgKind::out ||
         kind == ArgKind::out_if_positive || kind == ArgKind::update || kind == ArgKind::update_exact ||
         kind == ArgKind::update_by_length;
}

void expect_well_formed(const SyscallInfo& info, const ArgSpec& spec, unsigned index) {
  SCOPED_TRACE(testing::Message() << info.name << ", argument " << index + 1);
  if (needs_size(spec.kind)) {
    EXPECT_GT(spec.size, 0u);
  }
  if (is_counted(spec.kind)) {
    ASSERT_LT(spec.count_arg, info.arg_count);
    EXPECT_NE(spec.count_arg, index);
    EXPECT_TRUE(is_value(info.args[spec.count_arg].kind));
  }
  if (counts_behind_a_pointer(spec.kind)) {
    ASSERT_LT(spec.count_arg, info.arg_count);
    EXPECT_EQ(info.args[spec.count_arg].kind, ArgKind::update);
    EXPECT_EQ(info.args[spec.count_arg].size, 4u);
  }
  EXPECT_EQ(spec.names != NameSet::none, spec.kind == ArgKind::flags || spec.kind == ArgKind::choice);
}

TEST(SyscallTable, RowsAreWellFormed) {
  std::set<std::string> names;
  for (const SyscallInfo& info : syscall_table()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " occurs twice";
    for (unsigned i = 0; i < 6; ++i) {
      EXPECT_EQ(info.args[i].kind != ArgKind::none, i < info.arg_count) << info.name;
      expect_well_formed(info, info.args[i], i);
      if (info.args[i].kind == ArgKind::by_variant) {
        ASSERT_NE(info.variants, nullptr) << info.name;
        EXPECT_EQ(info.variants->variant_arg, i) << info.name;
      }
    }
    EXPECT_EQ(info.has_variants, info.variants != nullptr) << info.name;
    EXPECT_EQ(info.call_class == CallClass::refused, info.error != 0) << info.name;
    EXPECT_EQ(info.call_class == CallClass::refused, info.reason != nullptr) << info.name;
  }
}

TEST(SyscallTable, VariantsAreWellFormed) {
  size_t tables = 0;
  for (const SyscallInfo& info : syscall_table()) {
    if (info.variants == nullptr) continue;
    ++tables;
    const VariantTable& table = *info.variants;
    EXPECT_LT(table.selector_arg, info.arg_count);
    EXPECT_LT(table.variant_arg, info.arg_count);
    EXPECT_EQ(table.unmatched == Unmatched::as_row, table.unmatched_error == 0) << info.name;
    for (const CallVariant& variant : table.variants) {
      SCOPED_TRACE(variant.name);
      expect_well_formed(info, variant.arg, table.variant_arg);
      EXPECT_NE(variant.arg.kind, ArgKind::by_variant);
      EXPECT_EQ(variant.call_class == CallClass::refused, variant.error != 0);
      EXPECT_EQ(variant.call_class == CallClass::refused, variant.reason != nullptr);
      // Found again by its selector.
      SyscallArgs args{};
      args[table.selector_arg] = variant.selector & 0xffffffff;
      if (table.high_selector_arg < 6) args[table.high_selector_arg] = variant.selector >> 32;
      EXPECT_EQ(find_variant(table, args), &variant);
      CallShape shape = shape_of(info, args);
      EXPECT_EQ(shape.variant, &variant);
      EXPECT_EQ(shape.arg(table.variant_arg), variant.arg);
      EXPECT_EQ(shape.call_class, variant.call_class);
    }
  }
  EXPECT_EQ(tables, 11u);
}

TEST(SyscallTable, UnknownCommandsAreRefused) {
  CallShape shape = shape_of(*find_syscall(SYS_fcntl), {3, 0x7777, 0});
  EXPECT_EQ(shape.call_class, CallClass::refused);
  EXPECT_EQ(shape.error, EINVAL);
  // Options that no table lists are ordinary bytes.
  shape = shape_of(*find_syscall(SYS_getsockopt), {3, SOL_SOCKET, 0x7777, 0x1000, 0x2000});
  EXPECT_EQ(shape.call_class, CallClass::emulated);
  EXPECT_EQ(shape.arg(3).kind, ArgKind::update_by_length);
}

TEST(SyscallTable, CallsWithoutOutputNeedNoRedirection) {
  for (uint64_t number : {SYS_write, SYS_close, SYS_lseek, SYS_getpid, SYS_openat, SYS_mmap, SYS_futex,
                          SYS_sendto, SYS_setsockopt, SYS_exit_group, SYS_execve})
    EXPECT_FALSE(needs_redirect(number)) << number;
  for (uint64_t number : {SYS_read, SYS_fstat, SYS_ioctl, SYS_recvmsg, SYS_poll, SYS_pipe2, SYS_getsockopt,
                          SYS_wait4, SYS_fcntl, SYS_prctl})
    EXPECT_TRUE(needs_redirect(number)) << number;
}

TEST(SyscallTable, WhatRecordingCannotDoIsRefusedByName) {
  for (const char* name :
       {"rseq", "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd", "clone3", "io_setup",
        "io_submit", "io_getevents", "io_pgetevents", "perf_event_open", "ptrace", "process_vm_writev",
        "vmsplice", "bpf", "keyctl", "modify_ldt", "pkey_alloc"}) {
    auto table = syscall_table();
    auto row =
        std::ranges::find_if(table, [&](const SyscallInfo& info) { return std::string(info.name) == name; });
    ASSERT_NE(row, table.end()) << name;
    EXPECT_EQ(row->call_class, CallClass::refused) << name;
  }
  // glibc falls back to clone on this error only.
  EXPECT_EQ(find_syscall(435)->error, ENOSYS);
}

TEST(SyscallTable, SizesAreThoseOfTheTypes) {
  struct Expected {
    long number;
    unsigned arg;
    size_t size;
  };
  const Expected sizes[] = {
      {SYS_stat, 1, sizeof(struct stat)},
      {SYS_statx, 4, sizeof(struct statx)},
      {SYS_statfs, 1, sizeof(struct statfs)},
      {SYS_poll, 0, sizeof(pollfd)},
      {SYS_epoll_wait, 1, sizeof(epoll_event)},
      {SYS_uname, 0, sizeof(utsname)},
      {SYS_sysinfo, 0, sizeof(struct sysinfo)},
      {SYS_times, 0, sizeof(tms)},
      {SYS_getrusage, 1, sizeof(rusage)},
      {SYS_getrlimit, 1, sizeof(rlimit)},
      {SYS_wait4, 3, sizeof(rusage)},
      {SYS_waitid, 2, sizeof(siginfo_t)},
      {SYS_rt_sigtimedwait, 1, sizeof(siginfo_t)},
      {SYS_sigaltstack, 1, sizeof(stack_t)},
      {SYS_getitimer, 1, sizeof(itimerval)},
      {SYS_timer_gettime, 1, sizeof(itimerspec)},
      {SYS_adjtimex, 0, sizeof(timex)},
      {SYS_clock_gettime, 1, sizeof(timespec)},
      {SYS_capget, 0, sizeof(__user_cap_header_struct)},
      {SYS_capget, 1, 2 * sizeof(__user_cap_data_struct)},
      {SYS_mq_getsetattr, 2, sizeof(mq_attr)},
      {SYS_timer_create, 1, sizeof(sigevent)},
      {SYS_recvmsg, 1, sizeof(msghdr)},
      {SYS_recvmmsg, 1, sizeof(mmsghdr)},
      {SYS_sendmmsg, 1, sizeof(mmsghdr)},
      {SYS_semop, 1, sizeof(sembuf)},
  };
  for (const Expected& expected : sizes) {
    const SyscallInfo* info = find_syscall(static_cast<uint64_t>(expected.number));
    EXPECT_EQ(info->args[expected.arg].size, expected.size)
        << info->name << ", argument " << expected.arg + 1;
  }
  auto variant_size = [](long number, SyscallArgs args, unsigned arg) {
    return shape_of(*find_syscall(static_cast<uint64_t>(number)), args).arg(arg).size;
  };
  EXPECT_EQ(variant_size(SYS_semctl, {0, 0, IPC_STAT}, 3), sizeof(semid_ds));
  EXPECT_EQ(variant_size(SYS_semctl, {0, 0, IPC_INFO}, 3), sizeof(seminfo));
  EXPECT_EQ(variant_size(SYS_shmctl, {0, IPC_STAT}, 2), sizeof(shmid_ds));
  EXPECT_EQ(variant_size(SYS_shmctl, {0, IPC_INFO}, 2), sizeof(shminfo));
  EXPECT_EQ(variant_size(SYS_shmctl, {0, SHM_INFO}, 2), sizeof(shm_info));
  EXPECT_EQ(variant_size(SYS_msgctl, {0, IPC_STAT}, 2), sizeof(msqid_ds));
  EXPECT_EQ(variant_size(SYS_msgctl, {0, IPC_INFO}, 2), sizeof(msginfo));
  EXPECT_EQ(variant_size(SYS_ioctl, {0, TIOCGWINSZ}, 2), sizeof(winsize));
}

TEST(SyscallTable, PrintsEveryCall) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  ASSERT_NE(out, nullptr);
  print_syscall_table(out);
  std::fclose(out);
  std::string printed(text, size);
  free(text);
  for (const SyscallInfo& info : syscall_table())
    EXPECT_NE(printed.find(std::string(" ") + info.name + " "), printed.npos) << info.name;
  EXPECT_NE(printed.find("TIOCGWINSZ"), printed.npos);
  EXPECT_NE(printed.find("ENOSYS: libraries fall back to clone"), printed.npos);
}

} // namespace
} // namespace rdb
