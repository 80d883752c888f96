#define _GNU_SOURCE
#include <rdb/rdb.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>
static int *page;
static void repair(int number, siginfo_t *info, void *context) {
  (void)info;
  if (number == SIGSEGV)
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
  else
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RCX] = 3;
}
__attribute__((noinline)) static int load(const int *from) {
  rdb_begin
    printf("load %s\n", from ? "mapped" : "null");
  rdb_end
  return *from;
}
__attribute__((noinline)) static long divide(long by) {
  long result;
  rdb_begin
    printf("divide by %ld\n", by);
  rdb_end
  __asm__ volatile("cqto; idivq %%rcx" : "=a"(result) : "0"(12l), "c"(by) : "rdx");
  return result;
}
int main(void) {
  struct sigaction action = {.sa_sigaction = repair, .sa_flags = SA_SIGINFO};
  sigaction(SIGFPE, &action, 0);
  sigaction(SIGSEGV, &action, 0);
  page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("%d %ld\n", load(page), divide(0));
  fflush(stdout);
  signal(SIGSEGV, SIG_DFL);
  return load(0);
}
