// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dies in the way that the first argument names: the exit status, the output before it and what the shell
// sees must be the native ones.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int recurse(int n) {
  volatile char pad[4096];
  pad[n % 4096] = 1;
  return recurse(n + 1) + pad[n % 4096];
}

static void again(int signal_number) {
  (void)signal_number;
  *(volatile int*)8 = 1;
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "";
  // A core file per test would be litter.
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  printf("before %s\n", way);
  fflush(stdout);
  if (strcmp(way, "segv") == 0) *(volatile int*)16 = 1;
  if (strcmp(way, "segv-read-only") == 0) *(volatile char*)"text" = 1;
  if (strcmp(way, "jump-null") == 0) ((void (*)(void))0)();
  if (strcmp(way, "jump-wild") == 0) ((void (*)(void))0x123456789000)();
  if (strcmp(way, "jump-data") == 0) {
    static char data[64] = {(char)0xc3};
    void (*volatile f)(void) = (void (*)(void))(void*)data;
    f();
  }
  if (strcmp(way, "jump-kernel") == 0) ((void (*)(void))0xffff800000000000)();
  if (strcmp(way, "jump-unmapped") == 0) {
    char* page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(page, 0x90, 4096); // nops that run off the end of the mapping
    munmap(page + 4096, 4096);
    void (*volatile f)(void) = (void (*)(void))(void*)page;
    f();
  }
  if (strcmp(way, "ill") == 0) asm volatile("ud2");
  if (strcmp(way, "fpe") == 0) asm volatile("xor %%ecx, %%ecx; div %%ecx" : : : "rax", "rcx", "rdx", "cc");
  if (strcmp(way, "trap") == 0) asm volatile("int3");
  if (strcmp(way, "hlt") == 0) asm volatile("hlt");
  if (strcmp(way, "int80-like") == 0) asm volatile("int $0x81");
  if (strcmp(way, "bus") == 0) {
    char path[] = "/tmp/rdb-eng-crash-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    char* map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    return *(volatile char*)map;
  }
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "overflow") == 0) return recurse(0);
  if (strcmp(way, "raise-term") == 0) raise(SIGTERM);
  if (strcmp(way, "kill-self") == 0) kill(getpid(), SIGKILL);
  if (strcmp(way, "blocked") == 0) { // a fault whose signal is blocked kills all the same
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    *(volatile int*)16 = 1;
  }
  if (strcmp(way, "ignored") == 0) {
    signal(SIGSEGV, SIG_IGN);
    *(volatile int*)16 = 1;
  }
  if (strcmp(way, "in-handler") == 0) {
    signal(SIGSEGV, again);
    *(volatile int*)16 = 1;
  }
  if (strcmp(way, "exit-3") == 0) exit(3);
  if (strcmp(way, "exit-255") == 0) _exit(255);
  if (strcmp(way, "exit-raw") == 0) syscall(SYS_exit, 77);
  if (strcmp(way, "exit-big") == 0) exit(0x1234);
  return 1;
}
