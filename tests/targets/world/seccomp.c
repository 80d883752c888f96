// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Seccomp filters: errors, traps, more than one filter, and the end by one.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static void on_sys(int signal, siginfo_t* info, void* context) {
  ucontext_t* uc = context;
  printf("signal %d code %d errno %d call %d arch %d, here %d, rax %lld\n", signal, info->si_code,
         info->si_errno, info->si_syscall, info->si_arch == AUDIT_ARCH_X86_64,
         info->si_call_addr == (void*)uc->uc_mcontext.gregs[REG_RIP], uc->uc_mcontext.gregs[REG_RAX]);
  uc->uc_mcontext.gregs[REG_RAX] = 4711;
}

static int filter(unsigned call, unsigned action) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void show(const char* what, long result) {
  printf("%s: %ld %s\n", what, result, result < 0 ? strerror(errno) : "");
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  struct sock_filter bad[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4096), BPF_STMT(BPF_RET | BPF_K, 0)};
  struct sock_fprog bad_program = {2, bad};
  show("no new privileges", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  show("a bad program", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &bad_program, 0, 0));
  show("a null program", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0));
  show("mode", prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
  show("errno", filter(SYS_getuid, SECCOMP_RET_ERRNO | EMFILE));
  show("getuid", syscall(SYS_getuid));
  struct sigaction action = {.sa_sigaction = on_sys, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &action, NULL);
  show("trap", filter(SYS_getgid, SECCOMP_RET_TRAP | 77));
  show("getgid", syscall(SYS_getgid));
  // The severest of all filters counts.
  show("again", filter(SYS_getuid, SECCOMP_RET_TRAP | 5));
  show("getuid", syscall(SYS_getuid));
  show("mode", prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
  pid_t child = fork();
  if (child == 0) {
    show("getgid in the child", syscall(SYS_getgid));
    filter(SYS_getppid, SECCOMP_RET_KILL_PROCESS);
    syscall(SYS_getppid);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  printf("child: signalled %d by %d\n", WIFSIGNALED(status), WTERMSIG(status));
  child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", "id -u >/dev/null 2>&1; echo status $?", NULL);
    _exit(1);
  }
  waitpid(child, &status, 0);
  printf("child: exited %d\n", WIFEXITED(status));
  return 0;
}
