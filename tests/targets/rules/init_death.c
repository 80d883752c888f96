// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The first process of a PID namespace is ended by its own faults, as every process is; a signal without a
// handler that someone in the namespace sends does nothing to it. Without the right to make a namespace: an
// ordinary process.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void segv(void) {
  *(volatile int*)8 = 1;
}
static void ill(void) {
  asm volatile("ud2");
}
static void trap(void) {
  asm volatile("int3");
}
static void fpe(void) {
  asm volatile("xor %%eax, %%eax\n xor %%edx, %%edx\n div %%eax" ::: "eax", "edx");
}
static void bus(void) {
  int file = memfd_create("empty", 0);
  char* page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
  exit(*(volatile char*)page);
}
static void blocked_segv(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  segv();
}
static void sent(void) {
  static const int kSent[] = {SIGTERM, SIGUSR1, SIGSEGV, SIGKILL, SIGINT, SIGSYS};
  if (getpid() != 1) exit(5);
  for (unsigned i = 0; i < sizeof kSent / sizeof kSent[0]; i++)
    kill(getpid(), kSent[i]);
  exit(5);
}

int main(void) {
  static void (*const kCases[])(void) = {segv, ill, trap, fpe, bus, blocked_segv, sent};
  setvbuf(stdout, NULL, _IONBF, 0);
  for (unsigned i = 0; i < sizeof kCases / sizeof kCases[0]; i++) {
    pid_t maker = fork();
    if (maker == 0) {
      if (unshare(CLONE_NEWPID) != 0) printf("no namespace\n");
      pid_t first = fork();
      if (first == 0) {
        kCases[i]();
        _exit(3);
      }
      int status;
      waitpid(first, &status, 0);
      printf("%u: status %x\n", i, status & ~0x80);
      _exit(0);
    }
    waitpid(maker, NULL, 0);
  }
  return 0;
}
