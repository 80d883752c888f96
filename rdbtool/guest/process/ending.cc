// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/process/ending.h"

#include "rdbtool/base/error.h"
#include "rdbtool/base/raw_syscall.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rdb::guest {

namespace {

// By an instruction, or a call, that the kernel ends a process for.
void commit_fault(int signal) {
  switch (signal) {
  case SIGSEGV:
    asm volatile("movl $0, 0" ::: "memory");
    return;
  case SIGILL:
    asm volatile("ud2");
    return;
  case SIGTRAP:
    asm volatile("int3");
    return;
  case SIGFPE:
    asm volatile("xorl %%eax, %%eax; divl %%eax" ::: "eax", "edx", "cc");
    return;
  case SIGBUS: {
    void* page = mmap(nullptr, 1, PROT_READ, MAP_SHARED, memfd_create("end", MFD_CLOEXEC), 0);
    if (page != MAP_FAILED) asm volatile("movb (%0), %%al" ::"r"(page) : "eax");
    return;
  }
  case SIGSYS: {
    sock_filter kill = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    sock_fprog filter{1, &kill};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
    return;
  }
  default:
    return;
  }
}

[[noreturn]] void die_of(int number) {
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core); // a core of the host would mislead
  // Not by functions of the C library: to them, the two signals that it uses itself do not exist.
  SignalAction standard;
  uint64_t none = 0;
  raw_syscall(SYS_rt_sigaction, number, reinterpret_cast<int64_t>(&standard), 0, sizeof none);
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<int64_t>(&none), 0, sizeof none);
  // Nor raise(): the C library may know another number of this thread, since it did not make the fork.
  raw_syscall(SYS_tgkill, getpid(), raw_syscall(SYS_gettid), number);
  // No signal that is sent ends the first process of a PID namespace; one that the kernel forces on it does.
  commit_fault(number);
  _exit(128 + number);
}

} // namespace

void end_as(const Ending& ending) {
  std::fflush(nullptr);
  if (ending.kind == Ending::Kind::signalled) die_of(ending.value);
  _exit(ending.value);
}

Ending ending_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {Ending::Kind::signalled, WTERMSIG(wait_status)};
  return {Ending::Kind::exited, WEXITSTATUS(wait_status)};
}

std::string describe(const Ending& ending) {
  if (ending.kind == Ending::Kind::exited) return fmt::format("exit {}", ending.value);
  const char* name = sigabbrev_np(ending.value);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", ending.value);
}

} // namespace rdb::guest
