// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/replay/confinement.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/own_memory.h"
#include "rdbtool/base/raw_syscall.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <span>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace rdb::replay {
namespace {

// Calls that change nothing but this process, or write to what is open already. The order is that of the
// filter's comparisons: what is called most often comes first.
constexpr int kHarmless[] = {
    SYS_write, SYS_read, SYS_pread64, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_madvise, SYS_close, SYS_fstat,
    SYS_lseek, SYS_recvmsg, SYS_sendmsg, SYS_recvfrom, SYS_sendto, SYS_futex, SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    // memory
    SYS_brk, SYS_mremap, SYS_mincore, SYS_memfd_create, SYS_msync,
    // what is open
    SYS_readv, SYS_writev, SYS_preadv, SYS_pwrite64, SYS_ftruncate, SYS_fallocate, SYS_dup, SYS_dup2,
    SYS_dup3, SYS_pipe2, SYS_poll, SYS_ppoll, SYS_getdents64, SYS_fadvise64, SYS_close_range,
    // names of files
    SYS_stat, SYS_lstat, SYS_newfstatat, SYS_statx, SYS_access, SYS_faccessat, SYS_faccessat2, SYS_readlink,
    SYS_readlinkat, SYS_getcwd, SYS_statfs, SYS_fstatfs,
    // signals and threads of this process
    SYS_rt_sigaction, SYS_rt_sigpending, SYS_sigaltstack, SYS_arch_prctl, SYS_set_tid_address,
    SYS_set_robust_list, SYS_rseq, SYS_membarrier, SYS_sched_yield, SYS_sched_getaffinity, SYS_getcpu,
    SYS_rt_sigtimedwait, SYS_restart_syscall, SYS_exit, SYS_exit_group, SYS_wait4,
    // who and when
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getpgrp,
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_time,
    SYS_times, SYS_getrusage, SYS_uname, SYS_sysinfo, SYS_getrandom, SYS_getrlimit, SYS_setrlimit};

constexpr uint32_t kChangesFiles = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);
constexpr uint32_t kFork = CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD;

// PAGEMAP_SCAN of Linux 6.7, newer than the system's headers.
constexpr uint32_t kScanPages = _IOC(_IOC_READ | _IOC_WRITE, 'f', 16, 96);

// Calls that are harmless with certain arguments only.
struct Checked {
  int number;
  unsigned argument; // the lower half of this one decides
  uint32_t mask;     // in these bits
  uint32_t value;    // they must be so
};
constexpr uint32_t kAll = UINT32_MAX;
constexpr Checked kChecked[] = {
    {SYS_openat, 2, kChangesFiles, O_RDONLY},
    {SYS_open, 1, kChangesFiles, O_RDONLY},
    // Among the requests of terminals there is one that types for the user.
    {SYS_ioctl, 1, kAll, TCGETS},
    {SYS_ioctl, 1, kAll, TIOCGWINSZ},
    {SYS_ioctl, 1, kAll, kScanPages},
    // Among these there is one that sends signals to other processes.
    {SYS_fcntl, 1, kAll, F_GETFD},
    {SYS_fcntl, 1, kAll, F_SETFD},
    {SYS_fcntl, 1, kAll, F_GETFL},
    {SYS_fcntl, 1, kAll, F_SETFL},
    {SYS_fcntl, 1, kAll, F_DUPFD},
    {SYS_fcntl, 1, kAll, F_DUPFD_CLOEXEC},
    {SYS_fcntl, 1, kAll, F_GETLK},
    {SYS_prlimit64, 0, kAll, 0},
    {SYS_prctl, 0, kAll, PR_SET_NO_NEW_PRIVS},
    {SYS_prctl, 0, kAll, PR_SET_SECCOMP},
    {SYS_prctl, 0, kAll, PR_SET_PDEATHSIG},
};

// A filter is a program for the kernel's machine: each call goes through its statements from the first one
// until a return.
class Filter {
public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
    result(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
  }
  void allow(int number) {
    skip_unless_equal(static_cast<uint32_t>(number), 1);
    result(SECCOMP_RET_ALLOW);
  }
  void allow(const Checked& rule) {
    skip_unless_equal(static_cast<uint32_t>(rule.number), 5);
    load(static_cast<uint32_t>(offsetof(seccomp_data, args) + rule.argument * sizeof(uint64_t)));
    code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, rule.mask));
    skip_unless_equal(rule.value, 1);
    result(SECCOMP_RET_ALLOW);
    load(offsetof(seccomp_data, nr));
  }
  std::span<sock_filter> finish() {
    result(SECCOMP_RET_TRAP);
    return code_;
  }

private:
  void load(uint32_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }
  void result(uint32_t action) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, action)); }
  // Skips the next `count` statements if the loaded number is not `value`.
  void skip_unless_equal(uint32_t value, uint8_t count) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count));
  }

  std::vector<sock_filter> code_;
};

} // namespace

bool confine(const Confinement& wanted) {
  Filter filter;
  for (int number : kHarmless)
    filter.allow(number);
  for (const Checked& rule : kChecked)
    filter.allow(rule);
  // Signals to itself, which is how it ends as the program ended.
  filter.allow({SYS_tgkill, 0, kAll, static_cast<uint32_t>(getpid())});
  if (wanted.forks) filter.allow({SYS_clone, 0, kAll, kFork});
  if (wanted.hardware_breakpoints) filter.allow(SYS_perf_event_open);
  copy_through_file();
  std::span<sock_filter> code = filter.finish();
  sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  // Without that flag older kernels slow the process down: they take every filtered one for a browser's.
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
}

bool is_forbidden_call(int signal, const siginfo_t& info) {
  constexpr int kBySeccomp = 1; // SYS_SECCOMP, which the C library does not name
  return signal == SIGSYS && info.si_code == kBySeccomp;
}

void report_forbidden_call(const siginfo_t& info) {
  char text[200];
  int length =
      std::snprintf(text, sizeof text,
                    "rdb: the replay was ended when it made system call %d, which no replay makes: the "
                    "recording has taken rdb over, or rdb has a bug\n",
                    info.si_syscall);
  raw_syscall(SYS_write, STDERR_FILENO, reinterpret_cast<int64_t>(text), length);
  raw_syscall(SYS_exit_group, kExitFailure);
  __builtin_unreachable();
}

} // namespace rdb::replay
