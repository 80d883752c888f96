// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The descriptor that clone gives with CLONE_PIDFD is the lowest free one, close-on-exec, and refers to what
// was made.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[65536] __attribute__((aligned(64)));

static int child(void* unused) {
  (void)unused;
  _exit(7);
}

static void make(const char* what, int flags) {
  int descriptor = 99;
  pid_t pid = clone(child, stack + sizeof stack, flags | 0x1000 | SIGCHLD, NULL, &descriptor);
  siginfo_t info = {0};
  waitid(3 /* P_PIDFD */, (id_t)descriptor, &info, WEXITED);
  printf("%s: descriptor %d, next %d, flags %d, status %d, %s\n", what, descriptor, dup(0),
         fcntl(descriptor, F_GETFD), info.si_status, info.si_pid == pid ? "the child's" : "another's");
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  make("fork", 0);
  make("CLONE_VFORK", CLONE_VFORK);
  make("vfork", CLONE_VFORK | CLONE_VM);
  close(4);
  make("with a gap", 0);
  return 0;
}
