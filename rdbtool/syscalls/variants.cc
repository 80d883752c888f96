// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Commands of fcntl, options of prctl, socket options and System V IPC commands: what the one argument whose
// meaning they decide is. Options that only newer kernel headers name are given by number.
#include "rdbtool/syscalls/variants.h"

#include "rdbtool/syscalls/spec_words.h"
#include "rdbtool/syscalls/variant_sort.h"

#include <algorithm>
#include <asm/prctl.h>
#include <linux/fcntl.h>
#include <linux/ipc.h>
#include <linux/msg.h>
#include <linux/prctl.h>
#include <linux/sem.h>
#include <linux/shm.h>

namespace rdb {
namespace {

using namespace spec;

constexpr ArgSpec int_out = out(4, Shape::words32);
constexpr ArgSpec long_out = out(8, Shape::words64);
constexpr ArgSpec flock_in = in(32);

// clang-format off
constexpr auto kFcntl = sorted_variants({
  variant(F_DUPFD,         "F_DUPFD", i32),
  variant(F_GETFD,         "F_GETFD"),
  variant(F_SETFD,         "F_SETFD", hex),
  variant(F_GETFL,         "F_GETFL"),
  variant(F_SETFL,         "F_SETFL", flags(NameSet::open_flags)),
  variant(F_GETLK,         "F_GETLK", update(32)),
  variant(F_SETLK,         "F_SETLK", flock_in),
  variant(F_SETLKW,        "F_SETLKW", flock_in, emulated, may),
  variant(F_SETOWN,        "F_SETOWN", i32),
  variant(F_GETOWN,        "F_GETOWN"),
  variant(F_SETSIG,        "F_SETSIG", sig),
  variant(F_GETSIG,        "F_GETSIG"),
  variant(F_SETOWN_EX,     "F_SETOWN_EX", in(8, Shape::words32)),
  variant(F_GETOWN_EX,     "F_GETOWN_EX", out(8, Shape::words32)),
  variant(F_GETOWNER_UIDS, "F_GETOWNER_UIDS", out(8, Shape::words32)),
  variant(F_OFD_GETLK,     "F_OFD_GETLK", update(32)),
  variant(F_OFD_SETLK,     "F_OFD_SETLK", flock_in),
  variant(F_OFD_SETLKW,    "F_OFD_SETLKW", flock_in, emulated, may),
  variant(F_SETLEASE,      "F_SETLEASE", i32),
  variant(F_GETLEASE,      "F_GETLEASE"),
  variant(F_NOTIFY,        "F_NOTIFY", hex),
  variant(1027,            "F_DUPFD_QUERY", fd),
  variant(1028,            "F_CREATED_QUERY"),
  variant(F_CANCELLK,      "F_CANCELLK", flock_in),
  variant(F_DUPFD_CLOEXEC, "F_DUPFD_CLOEXEC", i32),
  variant(F_SETPIPE_SZ,    "F_SETPIPE_SZ", i32),
  variant(F_GETPIPE_SZ,    "F_GETPIPE_SZ"),
  variant(F_ADD_SEALS,     "F_ADD_SEALS", hex),
  variant(F_GET_SEALS,     "F_GET_SEALS"),
  variant(F_GET_RW_HINT,   "F_GET_RW_HINT", long_out),
  variant(F_SET_RW_HINT,   "F_SET_RW_HINT", in(8, Shape::words64)),
  variant(F_GET_FILE_RW_HINT, "F_GET_FILE_RW_HINT", long_out),
  variant(F_SET_FILE_RW_HINT, "F_SET_FILE_RW_HINT", in(8, Shape::words64)),
});

constexpr auto kPrctl = sorted_variants({
  variant(PR_SET_PDEATHSIG,  "PR_SET_PDEATHSIG", sig),
  variant(PR_GET_PDEATHSIG,  "PR_GET_PDEATHSIG", int_out),
  variant(PR_GET_DUMPABLE,   "PR_GET_DUMPABLE"),
  variant(PR_SET_DUMPABLE,   "PR_SET_DUMPABLE", i32),
  variant(PR_GET_UNALIGN,    "PR_GET_UNALIGN", update(4)),
  variant(PR_SET_UNALIGN,    "PR_SET_UNALIGN", hex),
  variant(PR_GET_KEEPCAPS,   "PR_GET_KEEPCAPS"),
  variant(PR_SET_KEEPCAPS,   "PR_SET_KEEPCAPS", i32),
  variant(PR_GET_FPEMU,      "PR_GET_FPEMU", update(4)),
  variant(PR_SET_FPEMU,      "PR_SET_FPEMU", hex),
  variant(PR_GET_FPEXC,      "PR_GET_FPEXC", update(4)),
  variant(PR_SET_FPEXC,      "PR_SET_FPEXC", hex),
  variant(PR_GET_TIMING,     "PR_GET_TIMING"),
  variant(PR_SET_TIMING,     "PR_SET_TIMING", i32),
  variant(PR_SET_NAME,       "PR_SET_NAME", str),
  variant(PR_GET_NAME,       "PR_GET_NAME", out(16, Shape::bytes)),
  variant(PR_GET_ENDIAN,     "PR_GET_ENDIAN", update(4)),
  variant(PR_SET_ENDIAN,     "PR_SET_ENDIAN", i32),
  variant(PR_GET_SECCOMP,    "PR_GET_SECCOMP", none, process),
  variant(PR_SET_SECCOMP,    "PR_SET_SECCOMP", i32, process),
  variant(PR_CAPBSET_READ,   "PR_CAPBSET_READ", i32),
  variant(PR_CAPBSET_DROP,   "PR_CAPBSET_DROP", i32),
  variant(PR_GET_TSC,        "PR_GET_TSC", int_out, process),
  variant(PR_SET_TSC,        "PR_SET_TSC", i32, process),
  variant(PR_GET_SECUREBITS, "PR_GET_SECUREBITS"),
  variant(PR_SET_SECUREBITS, "PR_SET_SECUREBITS", hex),
  variant(PR_SET_TIMERSLACK, "PR_SET_TIMERSLACK", size),
  variant(PR_GET_TIMERSLACK, "PR_GET_TIMERSLACK"),
  variant(PR_TASK_PERF_EVENTS_DISABLE, "PR_TASK_PERF_EVENTS_DISABLE"),
  variant(PR_TASK_PERF_EVENTS_ENABLE,  "PR_TASK_PERF_EVENTS_ENABLE"),
  variant(PR_MCE_KILL,       "PR_MCE_KILL", i32),
  variant(PR_MCE_KILL_GET,   "PR_MCE_KILL_GET"),
  refused_variant(PR_SET_MM, "PR_SET_MM", EPERM, "changing what /proc says of the program's memory"),
  variant(PR_SET_CHILD_SUBREAPER, "PR_SET_CHILD_SUBREAPER", i32),
  variant(PR_GET_CHILD_SUBREAPER, "PR_GET_CHILD_SUBREAPER", int_out),
  variant(PR_SET_NO_NEW_PRIVS,    "PR_SET_NO_NEW_PRIVS", i32),
  variant(PR_GET_NO_NEW_PRIVS,    "PR_GET_NO_NEW_PRIVS"),
  variant(PR_GET_TID_ADDRESS,     "PR_GET_TID_ADDRESS", out(8, Shape::hex64), thread),
  variant(PR_SET_THP_DISABLE,     "PR_SET_THP_DISABLE", i32),
  variant(PR_GET_THP_DISABLE,     "PR_GET_THP_DISABLE"),
  variant(PR_MPX_ENABLE_MANAGEMENT,  "PR_MPX_ENABLE_MANAGEMENT"),
  variant(PR_MPX_DISABLE_MANAGEMENT, "PR_MPX_DISABLE_MANAGEMENT"),
  variant(PR_CAP_AMBIENT,         "PR_CAP_AMBIENT", i32),
  variant(PR_GET_SPECULATION_CTRL, "PR_GET_SPECULATION_CTRL", i32),
  variant(PR_SET_SPECULATION_CTRL, "PR_SET_SPECULATION_CTRL", i32),
  variant(PR_SET_IO_FLUSHER,      "PR_SET_IO_FLUSHER", i32),
  variant(PR_GET_IO_FLUSHER,      "PR_GET_IO_FLUSHER"),
  refused_variant(PR_SET_SYSCALL_USER_DISPATCH, "PR_SET_SYSCALL_USER_DISPATCH", EINVAL, "system call user dispatch"),
  refused_variant(PR_SCHED_CORE, "PR_SCHED_CORE", EINVAL, "core scheduling"),
  variant(65,                     "PR_SET_MDWE", hex, process),
  variant(66,                     "PR_GET_MDWE", none, process),
  variant(67,                     "PR_SET_MEMORY_MERGE", i32),
  variant(68,                     "PR_GET_MEMORY_MERGE"),
  refused_variant(74, "PR_GET_SHADOW_STACK_STATUS", EINVAL, "shadow stacks"),
  refused_variant(75, "PR_SET_SHADOW_STACK_STATUS", EINVAL, "shadow stacks"),
  refused_variant(76, "PR_LOCK_SHADOW_STACK_STATUS", EINVAL, "shadow stacks"),
  variant(77,                     "PR_TIMER_CREATE_RESTORE_IDS", i32),
  variant(78,                     "PR_FUTEX_HASH", i32),
  variant(0x41555856,             "PR_GET_AUXV", out_array(2, 1), process),
  variant(PR_SET_VMA,             "PR_SET_VMA", hex),
  variant(PR_SET_PTRACER,         "PR_SET_PTRACER", i32),
});

constexpr auto kArchPrctl = sorted_variants({
  variant(ARCH_SET_GS,    "ARCH_SET_GS", addr, thread),
  variant(ARCH_SET_FS,    "ARCH_SET_FS", addr, thread),
  variant(ARCH_GET_FS,    "ARCH_GET_FS", out(8, Shape::hex64), thread),
  variant(ARCH_GET_GS,    "ARCH_GET_GS", out(8, Shape::hex64), thread),
  variant(ARCH_GET_CPUID, "ARCH_GET_CPUID", none, thread),
  variant(ARCH_SET_CPUID, "ARCH_SET_CPUID", i32, thread),
  refused_variant(0x1021, "ARCH_GET_XCOMP_SUPP", EINVAL, "AMX"),
  refused_variant(0x1022, "ARCH_GET_XCOMP_PERM", EINVAL, "AMX"),
  refused_variant(0x1023, "ARCH_REQ_XCOMP_PERM", EINVAL, "AMX"),
  refused_variant(0x1024, "ARCH_GET_XCOMP_GUEST_PERM", EINVAL, "AMX"),
  refused_variant(0x1025, "ARCH_REQ_XCOMP_GUEST_PERM", EINVAL, "AMX"),
  refused_variant(0x2001, "ARCH_MAP_VDSO_X32", EINVAL, "there is no vdso"),
  refused_variant(0x2002, "ARCH_MAP_VDSO_32", EINVAL, "there is no vdso"),
  refused_variant(0x2003, "ARCH_MAP_VDSO_64", EINVAL, "there is no vdso"),
  variant(0x4001,         "ARCH_GET_UNTAG_MASK", out(8, Shape::hex64)),
  refused_variant(0x4002, "ARCH_ENABLE_TAGGED_ADDR", EINVAL, "tagged addresses"),
  variant(0x4003,         "ARCH_GET_MAX_TAG_BITS", out(8, Shape::words64)),
  refused_variant(0x5001, "ARCH_SHSTK_ENABLE", EINVAL, "shadow stacks"),
  refused_variant(0x5002, "ARCH_SHSTK_DISABLE", EINVAL, "shadow stacks"),
  refused_variant(0x5003, "ARCH_SHSTK_LOCK", EINVAL, "shadow stacks"),
  refused_variant(0x5004, "ARCH_SHSTK_UNLOCK", EINVAL, "shadow stacks"),
  refused_variant(0x5005, "ARCH_SHSTK_STATUS", EINVAL, "shadow stacks"),
});

constexpr uint64_t option(uint32_t level, uint32_t name) { return uint64_t{level} << 32 | name; }
constexpr const char* kPacketRing = "packet rings shared with the kernel";
constexpr const char* kFilterTables = "tables of the packet filter: the kernel writes their old counters";
constexpr uint32_t kSolIp = 0, kSolSocket = 1, kSolTcp = 6, kSolIpv6 = 41, kSolPacket = 263, kSolXdp = 283;

constexpr auto kGetSockopt = sorted_variants({
  variant(option(kSolSocket, 26), "SO_GET_FILTER", update_by_length(4, 8)), // counted in instructions of 8 bytes
  refused_variant(option(kSolTcp, 35), "TCP_ZEROCOPY_RECEIVE", EINVAL, "pages mapped by a socket"),
});

constexpr auto kSetSockopt = sorted_variants({
  refused_variant(option(kSolIp, 64),     "IPT_SO_SET_REPLACE", EPERM, kFilterTables),
  refused_variant(option(kSolIp, 96),     "ARPT_SO_SET_REPLACE", EPERM, kFilterTables),
  refused_variant(option(kSolIp, 128),    "EBT_SO_SET_ENTRIES", EPERM, kFilterTables),
  refused_variant(option(kSolIpv6, 64),   "IP6T_SO_SET_REPLACE", EPERM, kFilterTables),
  refused_variant(option(kSolPacket, 5),  "PACKET_RX_RING", EINVAL, kPacketRing),
  refused_variant(option(kSolPacket, 13), "PACKET_TX_RING", EINVAL, kPacketRing),
  refused_variant(option(kSolXdp, 2),     "XDP_RX_RING", EINVAL, kPacketRing),
  refused_variant(option(kSolXdp, 3),     "XDP_TX_RING", EINVAL, kPacketRing),
  refused_variant(option(kSolXdp, 4),     "XDP_UMEM_REG", EINVAL, kPacketRing),
  refused_variant(option(kSolXdp, 5),     "XDP_UMEM_FILL_RING", EINVAL, kPacketRing),
  refused_variant(option(kSolXdp, 6),     "XDP_UMEM_COMPLETION_RING", EINVAL, kPacketRing),
});

constexpr ArgSpec semid_out = out(104), shmid_out = out(112), msqid_out = out(120);
// GETALL writes two bytes for each semaphore of the set, and a set has at most 32000 of them; how many this
// one has is known to the kernel only.
constexpr ArgSpec all_semaphores = update(2 * 32000);

constexpr auto kSemctl = sorted_variants({
  variant(IPC_RMID, "IPC_RMID"),
  variant(IPC_SET,  "IPC_SET", in(104)),
  variant(IPC_STAT, "IPC_STAT", semid_out),
  variant(IPC_INFO, "IPC_INFO", out(40, Shape::words32)),
  variant(GETPID,   "GETPID"),
  variant(GETVAL,   "GETVAL"),
  variant(GETALL,   "GETALL", all_semaphores),
  variant(GETNCNT,  "GETNCNT"),
  variant(GETZCNT,  "GETZCNT"),
  variant(SETVAL,   "SETVAL", i32),
  variant(SETALL,   "SETALL", addr),
  variant(SEM_STAT, "SEM_STAT", semid_out),
  variant(SEM_INFO, "SEM_INFO", out(40, Shape::words32)),
  variant(SEM_STAT_ANY, "SEM_STAT_ANY", semid_out),
});

constexpr auto kShmctl = sorted_variants({
  variant(IPC_RMID, "IPC_RMID"),
  variant(IPC_SET,  "IPC_SET", in(112)),
  variant(IPC_STAT, "IPC_STAT", shmid_out),
  variant(IPC_INFO, "IPC_INFO", out(72, Shape::words64)),
  variant(SHM_LOCK, "SHM_LOCK"),
  variant(SHM_UNLOCK, "SHM_UNLOCK"),
  variant(SHM_STAT, "SHM_STAT", shmid_out),
  variant(SHM_INFO, "SHM_INFO", out(48)),
  variant(SHM_STAT_ANY, "SHM_STAT_ANY", shmid_out),
});

constexpr auto kMsgctl = sorted_variants({
  variant(IPC_RMID, "IPC_RMID"),
  variant(IPC_SET,  "IPC_SET", in(120)),
  variant(IPC_STAT, "IPC_STAT", msqid_out),
  variant(IPC_INFO, "IPC_INFO", out(32)),
  variant(MSG_STAT, "MSG_STAT", msqid_out),
  variant(MSG_INFO, "MSG_INFO", out(32)),
  variant(MSG_STAT_ANY, "MSG_STAT_ANY", msqid_out),
});

constexpr auto kSeccomp = sorted_variants({
  variant(0, "SECCOMP_SET_MODE_STRICT", hex, process),
  variant(1, "SECCOMP_SET_MODE_FILTER", in(16), process),
  variant(2, "SECCOMP_GET_ACTION_AVAIL", in(4), process),
  variant(3, "SECCOMP_GET_NOTIF_SIZES", out(6), process),
});

constexpr auto kSyslog = sorted_variants({
  variant(0,  "SYSLOG_ACTION_CLOSE", hex),
  variant(1,  "SYSLOG_ACTION_OPEN", hex),
  variant(2,  "SYSLOG_ACTION_READ", out_text(2), emulated, may),
  variant(3,  "SYSLOG_ACTION_READ_ALL", out_text(2)),
  variant(4,  "SYSLOG_ACTION_READ_CLEAR", out_text(2)),
  variant(5,  "SYSLOG_ACTION_CLEAR", hex),
  variant(6,  "SYSLOG_ACTION_CONSOLE_OFF", hex),
  variant(7,  "SYSLOG_ACTION_CONSOLE_ON", hex),
  variant(8,  "SYSLOG_ACTION_CONSOLE_LEVEL", hex),
  variant(9,  "SYSLOG_ACTION_SIZE_UNREAD", hex),
  variant(10, "SYSLOG_ACTION_SIZE_BUFFER", hex),
});
// clang-format on

} // namespace

constexpr VariantTable kFcntlCommands{kFcntl, 1, 0xff, 2, Unmatched::refuse, EINVAL};
constexpr VariantTable kPrctlOptions{kPrctl, 0, 0xff, 1, Unmatched::refuse, EINVAL};
constexpr VariantTable kArchPrctlCodes{kArchPrctl, 0, 0xff, 1, Unmatched::refuse, EINVAL};
constexpr VariantTable kGetSocketOptions{kGetSockopt, 2, 1, 3, Unmatched::as_row, 0};
constexpr VariantTable kSetSocketOptions{kSetSockopt, 2, 1, 3, Unmatched::as_row, 0};
constexpr VariantTable kSemaphoreCommands{kSemctl, 2, 0xff, 3, Unmatched::refuse, EINVAL};
constexpr VariantTable kSharedMemoryCommands{kShmctl, 1, 0xff, 2, Unmatched::refuse, EINVAL};
constexpr VariantTable kMessageCommands{kMsgctl, 1, 0xff, 2, Unmatched::refuse, EINVAL};
constexpr VariantTable kSeccompOperations{kSeccomp, 0, 0xff, 2, Unmatched::refuse, EINVAL};
constexpr VariantTable kSyslogActions{kSyslog, 0, 0xff, 1, Unmatched::refuse, EINVAL};

const CallVariant* find_variant(const VariantTable& table, const SyscallArgs& args) {
  // All selectors are 32 bits wide for the kernel, whatever the guest left above.
  uint64_t selector = static_cast<uint32_t>(args[table.selector_arg]);
  if (table.high_selector_arg < args.size())
    selector |= uint64_t{static_cast<uint32_t>(args[table.high_selector_arg])} << 32;
  auto at = std::ranges::lower_bound(table.variants, selector, {}, &CallVariant::selector);
  return at != table.variants.end() && at->selector == selector ? &*at : nullptr;
}

} // namespace rdb
