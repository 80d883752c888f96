// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values whose registers or stack slots are not at every place what they are at another: half of a register that is copied, a stack frame
// that is set up only where it is needed, and a value of which the machine's instruction looks at some bits only.
#include <rdb/rdb.h>
#include <stdio.h>

typedef unsigned u;
struct S { u a, b; unsigned short c; struct { u d, e; } n; unsigned char f[6]; };
u g0 = 3, g1 = 7;

// The upper half of m is zero, that of the register it comes from is not.
__attribute__((noinline)) static unsigned long lower_half(unsigned long a, unsigned long b) {
  unsigned long m = a & 0xffffffff;
  rdb_begin
    printf("lower_half %lx\n", m);
  rdb_end
  return m * b;
}

__attribute__((noinline)) static u called(u* p) {
  g1 ^= *p;
  return g1 | 1;
}

// Nothing is on the stack before the branch, and p is behind what comes there.
__attribute__((noinline)) static u frameless(struct S p) {
  g1 += 2;
  rdb_begin
    printf("frameless %u %u\n", p.n.e, p.c);
  rdb_end
  if (g0 < 5) return 1;
  u x = called(&g0), y = called(&g1);
  return x * p.a + y * called(&p.n.d);
}

// Of m the lower half is needed only, which is that of n.
__attribute__((noinline, target("bmi"))) static u extracted(u n, u x) {
  u m = n & 0xffff;
  rdb_begin
    printf("extracted %u\n", m);
  rdb_end
  return __builtin_ia32_bextr_u32(x, m);
}

int main(int argc, char** argv) {
  (void)argv;
  struct S m = {argc, 2, 3, {4, 5}, {6, 7}};
  u x = 0;
  for (unsigned long i = 1; i < 4; i++) {
    x += lower_half(0x123456789abcdef * i, argc);
    x += frameless(m);
    if (__builtin_cpu_supports("bmi")) x += extracted(0x12345678 * i, x);
    g0++;
  }
  printf("%u\n", x);
  return 0;
}
