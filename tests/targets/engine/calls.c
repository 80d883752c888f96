// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls and returns in every density: deep recursion, one function returning to many places, tables of
// functions, tail calls, leaf functions in the red zone. Also built static, static-PIE and non-PIE.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE static long fib(int n) {
  return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

NOINLINE static long ackermann(long m, long n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

NOINLINE static long sum_down(long n) {
  volatile char pad[48];
  pad[n % 48] = 1;
  return n == 0 ? 0 : sum_down(n - 1) + n * pad[n % 48];
}

NOINLINE static unsigned mix(unsigned v) {
  return v * 2654435761u ^ (v >> 15);
}

#define SITE4(v) mix(mix(mix(mix(v) + 1) + 2) + 3)
#define SITE16(v) SITE4(SITE4(SITE4(SITE4(v) + 4) + 5) + 6)
#define SITE64(v) SITE16(SITE16(SITE16(SITE16(v) + 7) + 8) + 9)
NOINLINE static unsigned many_sites(unsigned v) {
  return SITE64(SITE64(v) + 11);
}

NOINLINE static int op0(int v) {
  return v + 3;
}
NOINLINE static int op1(int v) {
  return v ^ 0x1234;
}
NOINLINE static int op2(int v) {
  return v * 5;
}
NOINLINE static int op3(int v) {
  return v - 9;
}
NOINLINE static int op4(int v) {
  return (v << 3) | (v & 7);
}
static int (*const kTable[])(int) = {op0, op1, op2, op3, op4, op2, op0};

NOINLINE static int tail(int n, int v);
NOINLINE static int tail_other(int n, int v) {
  return n == 0 ? v : tail(n - 1, v + 1);
}
NOINLINE static int tail(int n, int v) {
  return n == 0 ? v : tail_other(n - 1, v * 3 % 1001);
}

// A leaf keeps its locals below rsp; any push of the engine's would overwrite them.
NOINLINE static unsigned red_zone(unsigned a) {
  volatile unsigned local[24];
  for (int i = 0; i < 24; i++)
    local[i] = a + (unsigned)i;
  unsigned sum = 0;
  for (int i = 0; i < 24; i++) {
    if (local[i] & 1)
      sum += local[i] * 3;
    else
      sum ^= local[23 - i];
    switch (local[i] % 9) {
    case 0:
      sum += 1;
      break;
    case 1:
      sum ^= 0x77;
      break;
    case 2:
      sum *= 3;
      break;
    case 3:
      sum -= local[3];
      break;
    case 4:
      sum += local[9];
      break;
    default:
      sum++;
    }
  }
  return sum;
}

static int compare(const void* a, const void* b) {
  return *(const int*)a - *(const int*)b;
}

int main(void) {
  printf("fib %ld\n", fib(18));
  printf("ackermann %ld\n", ackermann(2, 30));
  printf("sum_down %ld\n", sum_down(5000));
  unsigned v = 1;
  for (int i = 0; i < 60; i++)
    v = many_sites(v);
  printf("many sites %u\n", v);
  int w = 1;
  for (int i = 0; i < 5000; i++)
    w = kTable[(unsigned)(w + i) % 7](w) & 0xffffff;
  printf("table %d\n", w);
  printf("tail %d\n", tail(10000, 1));
  unsigned r = 0;
  for (unsigned i = 0; i < 500; i++)
    r += red_zone(r + i);
  printf("red zone %u\n", r);
  int* values = malloc(1000 * sizeof *values);
  for (int i = 0; i < 1000; i++)
    values[i] = (int)(mix((unsigned)i) % 10007);
  qsort(values, 1000, sizeof *values, compare);
  printf("sorted %d %d %d\n", values[0], values[500], values[999]);
  free(values);
  char text[64];
  snprintf(text, sizeof text, "%s/%.6f/%x", "text", 3.25, 0xabcdef);
  printf("%s %zu\n", text, strlen(text));
  return 42;
}
