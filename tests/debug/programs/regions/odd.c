#define _GNU_SOURCE
#include <rdb/rdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned long words[64];
static int calls;
__attribute__((noinline)) long bits(long n) {
  asm volatile("bts %1, %0; lock btc %k2, %0" : "+m"(words[32]) : "r"(n), "r"(-n) : "memory", "cc");
  asm volatile("lea 128(%0), %%rax; xchg %%rax, %%rsp; pushq $77; popq 24(%%rsp); xchg %%rax, %%rsp" : : "r"(words) :
      "rax", "memory");
  calls++;
  return (long)words[19] + (words[30] != 0) + (words[33] != 0);
}
long sealed(int n) {
  char *p = mmap(0, 5000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(p, n, 5000);
  if (mprotect(p, 8192, PROT_READ)) return -1;
  char *q = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mprotect(q, 4096, PROT_READ | PROT_WRITE)) return -2;
  memset(q, n, 4096);
  if (madvise(q, 4096, MADV_DONTNEED)) return -3;
  sigset_t mask;
  if (sigprocmask(SIG_UNBLOCK, 0, &mask) || !sigismember(&mask, SIGUSR2) || sigismember(&mask, SIGUSR1)) return -4;
  calls++;
  return p[4000] + q[100];
}
long grows(int n) {
  long sum = 0;
  for (int i = 0; i < n; i++) {
    char *p = malloc(100000);
    memset(p, i, 100000);
    sum += p[99999];
  }
  calls++;
  return sum + (sbrk(4096) == (void *)-1);
}
int main(void) {
  long n = 70;
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  sigprocmask(SIG_BLOCK, &mask, 0);
  rdb_begin
    printf("%ld %ld %ld\n", bits(70), sealed(7), grows(50));
    printf("%d %ld\n", calls, bits(70));
  rdb_end
  n++;
  rdb_begin
    printf("%ld\n", sealed(8));
    *(volatile int *)8 = 1;
  rdb_end
  for (int i = 0; i < 64; i++)
    if (words[i]) return 1;
  printf("%d, %ld %ld %ld\n", calls, bits(n), sealed(7), grows(50));
  return 0;
}
