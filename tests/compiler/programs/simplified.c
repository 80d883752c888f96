// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that the optimiser computes in another way where the program cannot tell, and variables that leave memory after writes to them
// have been moved or removed.
#include <rdb/rdb.h>
#include <stdio.h>

typedef unsigned u;
struct S { u a, b; unsigned short c; struct { u d, e; } n; unsigned char f[6]; unsigned bits : 5; };
union U { u i; unsigned char b[4]; unsigned short h[2]; };
u g0 = 3, g2 = 11, garr[8] = {1, 2, 3, 4, 5, 6, 7, 8};
struct S gs = {1, 2, 3, {4, 5}, {6, 7, 8}, 3};
union U gu;
volatile u gv = 2;

// The write to p.a is sunk out of the loop before p leaves memory.
static void sunk(struct S p) {
  for (u i = 0; i < 8; i++) {
    p.a = 0;
    gs.bits ^= g2 | p.f[3];
    gu.h[1] = p.f[0];
    rdb_begin
      printf("sunk %u\n", p.a);
    rdb_end
  }
}

// That to p.c is removed, and p is a copy that inlining makes.
static void removed(struct S p) {
  p.n.e = p.n.e ? p.a + p.f[1] : 0u;
  if (p.n.e) gu.h[1] = 0;
  { u t = p.a; p.a = p.c; p.c = t; }
  rdb_begin
    printf("removed %u\n", p.c);
  rdb_end
}

// Where p counts in the result, *q is 0, and so p is the rest of its sum.
static u chosen(u p, u* q) {
  rdb_begin
    printf("chosen %u\n", p);
  rdb_end
  return *q ? garr[0] : p + p;
}

// Of p the lower half is needed only.
static u half(union U p, union U q) {
  rdb_begin
    printf("half %u\n", p.i);
  rdb_end
  for (u i = 0; i < 6; i++) {
    q.b[1] = p.i | (q.h[1] - p.b[1]);
    gs.bits ^= q.b[1];
    gu.b[2] = 1;
    p.i = q.i;
  }
  return 0;
}
__attribute__((noinline)) static void halves(union U p) {
  for (u i = 0; i < 2; i++) {
    half(p, gu);
    p.h[1] = 0;
  }
}

// Strength reduction describes it by the wrong counter.
static u counted(u p) {
  union U v;
  v.i = p >> 6;
  rdb_begin
    printf("counted %u\n", v.i);
  rdb_end
  gv = p;
  return 255;
}

// Each turn of the loop gets code of its own, and n is that of the last one.
__attribute__((noinline)) static void unrolled(u p) {
  u n = 0;
  do {
    garr[n] ^= p >> n;
  } while (n++ < 5 && garr[n] != 3);
  rdb_begin
    printf("unrolled %u\n", n);
  rdb_end
  gv = p;
}

int main(int argc, char** argv) {
  (void)argv;
  u x = argc;
  struct S m = {argc, 2, 3, {4, 5}};
  for (u i = 0; i < 2; i++) {
    printf("%u %u\n", x, m.a);
    sunk(m);
  }
  for (u i = 0; i < 2; i++)
    removed(m);
  for (u i = 0; i < 2; i++) {
    x += i;
    printf("%u\n", x);
    x += chosen(x + i, &x);
  }
  for (u i = 0; i < 2; i++)
    halves(gu);
  x = g0;
  for (u i = 0; i < 2; i++)
    x += counted(x + i);
  unrolled(x);
  unrolled(0);
  return 0;
}
