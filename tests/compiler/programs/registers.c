// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values whose registers or stack slots are not at every place what they are at another: half of a register that is copied, and a stack
// frame that is set up only where it is needed.
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

int main(int argc, char** argv) {
  (void)argv;
  struct S m = {argc, 2, 3, {4, 5}, {6, 7}};
  u x = 0;
  for (unsigned long i = 1; i < 4; i++) {
    x += lower_half(0x123456789abcdef * i, argc);
    x += frameless(m);
    g0++;
  }
  printf("%u\n", x);
  return 0;
}
