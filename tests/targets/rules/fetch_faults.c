// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A jump to where nothing can be executed is SEGV_ACCERR if something is mapped there, SEGV_MAPERR if not;
// the fault's error code says whether the page was there. Later frames still show the last fault.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf out;
static volatile long code, error, trap, address, cr2;

static void handler(int signal, siginfo_t* info, void* context) {
  const greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  code = info->si_code;
  address = (long)info->si_addr;
  error = registers[REG_ERR];
  trap = registers[REG_TRAPNO];
  cr2 = registers[REG_CR2];
  if (signal == SIGSEGV || signal == SIGFPE) siglongjmp(out, 1);
}

static char* base;

static void show(const char* what) {
  printf("%s: code %ld error %lx trap %ld cr2 %ld\n", what, code, error, trap, cr2 ? cr2 - (long)base : -1);
}

static void jump(const char* what, char* to) {
  if (sigsetjmp(out, 1) == 0) ((void (*)(void))to)();
  printf("%s, address %s, ", what, address == (long)to ? "right" : "wrong");
  show("");
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGFPE, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  base = mmap(NULL, 6 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  raise(SIGUSR1);
  printf("before any fault: error %lx trap %ld\n", error, trap);
  mprotect(base + 4096, 4096, PROT_READ | PROT_WRITE);
  mprotect(base + 8192, 4096, PROT_READ | PROT_WRITE);
  base[8192] = 1;
  munmap(base + 3 * 4096, 4096);
  mprotect(base + 4 * 4096, 4096, PROT_READ);
  jump("nothing allowed", base);
  jump("read and write", base + 4096);
  jump("written to", base + 8192);
  jump("unmapped", base + 3 * 4096);
  jump("read only", base + 4 * 4096 + 100);
  raise(SIGUSR1);
  show("sent after that");
  if (sigsetjmp(out, 1) == 0)
    asm volatile("xor %%eax, %%eax\n xor %%edx, %%edx\n div %%eax" ::: "eax", "edx");
  show("division");
  raise(SIGUSR1);
  show("sent after that");
  if (sigsetjmp(out, 1) == 0) *(volatile char*)(base + 5 * 4096 + 7) = 1;
  show("write");
  return 0;
}
