// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions that use many pages of shared memory and can stop in the middle, while other processes write
// to all of these pages, and a timer sends signals: what they find, and what the handler sees.
#define _GNU_SOURCE
#include <immintrin.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { kPages = 32, kPage = 4096, kWriters = 2, kRounds = 100 };

static volatile long alarms;
static volatile long in_the_middle;

static void on_alarm(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)info;
  const greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned char* next = (const unsigned char*)registers[REG_RIP];
  ++alarms;
  if (next[0] == 0xF3 && next[1] == 0xAA && registers[REG_RCX] != kPages * kPage) ++in_the_middle;
}

static void clear(char* to, int byte) {
  size_t size = kPages * kPage;
  *(volatile char*)to = 1; // it has the first page when it begins
  asm volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(byte) : "memory");
}

static unsigned long mixed(unsigned long sum, const int* values) {
  for (int i = 0; i < 8; ++i)
    sum = sum * 31 + (unsigned)values[i];
  return sum;
}

__attribute__((target("avx2"))) static unsigned long gather(const int* from, unsigned long sum) {
  const int page = kPage / sizeof(int);
  int values[8];
  __m256i places = _mm256_setr_epi32(0, page, 1, page + 1, 2, 2 * page, page + 2, 3 * page);
  _mm256_storeu_si256((__m256i*)values, _mm256_i32gather_epi32(from, places, 4));
  return mixed(sum, values);
}

static unsigned long sum_of_page(const volatile char* page) {
  unsigned long sum = 0;
  for (int i = 0; i < kPage; ++i)
    sum = sum * 31 + (unsigned char)page[i];
  return sum;
}

int main(void) {
  char* memory = mmap(NULL, kPages * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 9;
  pid_t writers[kWriters];
  for (unsigned i = 0; i < kWriters; ++i) {
    writers[i] = fork();
    for (unsigned x = i; writers[i] == 0; x = x * 1103515245 + 12345)
      ++*(volatile char*)(memory + (x >> 16) % kPages * kPage + (x >> 24) % 16);
  }
  struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 700}, {0, 700}}, NULL);
  unsigned long gathered = 0;
  unsigned long seen = 0;
  for (int round = 0; round < kRounds; ++round) {
    clear(memory, round);
    seen += sum_of_page(memory + round % kPages * kPage);
    for (int i = 0; i < 10 && __builtin_cpu_supports("avx2"); ++i)
      gathered = gather((const int*)memory, gathered);
    getppid();
  }
  setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
  for (unsigned i = 0; i < kWriters; ++i) {
    kill(writers[i], SIGKILL);
    waitpid(writers[i], NULL, 0);
  }
  printf("sums %lu %lu, alarms %ld, in the middle %ld\n", seen, gathered, alarms, in_the_middle);
  return 0;
}
