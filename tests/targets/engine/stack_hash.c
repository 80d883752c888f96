// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads what nobody wrote for it: the dead stack below rsp and everything above, to the end of the stack. In
// rdb the hash is the same in each run and each engine, given one layout; an address of the code cache
// anywhere would change it. With an argument it writes the stack and its writable data to stdout and waits
// for a byte, so that a test can compare each word with the mappings of the process.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "hash.h"

static jmp_buf g_jump;
static char g_data[64];

__attribute__((noinline)) static long noise(int depth) {
  char text[200];
  snprintf(text, sizeof text, "%d %f %s", depth, depth / 3.0, getenv("HOME") ? "home" : "no home");
  void* p = malloc((size_t)depth * 100 + 1);
  long r = depth == 0 ? 1 : noise(depth - 1) + (long)strlen(text);
  free(p);
  return r;
}

static int compare(const void* a, const void* b) {
  return *(const char*)a - *(const char*)b;
}
static void on_signal(int n) {
  g_data[0] += (char)n;
}

__attribute__((noinline)) static void jumps(int n) {
  if (n == 0) longjmp(g_jump, 1);
  jumps(n - 1);
  g_data[1]++;
}

int main(int argc, char** argv) {
  (void)argv;
  long sum = noise(30);
  char letters[] = "the quick brown fox";
  qsort(letters, strlen(letters), 1, compare);
  if (setjmp(g_jump) == 0) jumps(20);
  signal(SIGSEGV, on_signal);
  // Lazily bound calls, x87 and vector state, formatted output: all of it leaves traces. Not stdio: it asks
  // for the times of its file, which are others in each run.
  char line[100];
  int length = snprintf(line, sizeof line, "%ld %s %.3Lf\n", sum, letters, (long double)sum / 7);
  if (write(1, line, (size_t)length) != length) return 1;

  // The stack's end: behind the name of the executable, the last string there.
  const char* name = (const char*)getauxval(AT_EXECFN);
  uintptr_t top = ((uintptr_t)name + strlen(name) + 1 + 8) & ~7ull;
  uintptr_t here;
  asm volatile("mov %%rsp, %0" : "=r"(here));
  uintptr_t bottom = here - 48 * 1024;
  uint64_t below = HASH_SEED, above = HASH_SEED;
  for (uintptr_t p = bottom; p < here; p += 8)
    below = (below ^ *(volatile uint64_t*)p) * 0x100000001b3ull;
  for (uintptr_t p = here; p + 8 <= top; p += 8)
    above = (above ^ *(volatile uint64_t*)p) * 0x100000001b3ull;
  if (argc == 1) {
    printf("below %016llx above %016llx\n", (unsigned long long)below, (unsigned long long)above);
    return 0;
  }
  extern char edata[], end[], __data_start[];
  if (write(1, (void*)bottom, top - bottom) < 0 || write(1, __data_start, (size_t)(end - __data_start)) < 0)
    return 1;
  close(1);
  char byte;
  return read(0, &byte, 1) < 0;
}
