// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions that code generation puts ahead of calls and other regions, ones that come to stand on other paths, and writes that become
// vectors and leave their loop.
#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>

typedef unsigned u;
struct S { u a, b; unsigned short c; struct { u d, e; } n; unsigned char f[6]; unsigned bits : 5; };
u g0 = 3, g2 = 11, garr[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static u h1 = 9, harr[8];
struct S gs = {1, 2, 3, {4, 5}, {6, 7, 8}, 3};
static struct S hs = {9, 8, 7, {6, 5}, {4, 3}, 1};
unsigned char gb[16], gu[4];
volatile u gv = 2;

// Behind the printf of its caller.
static u behind_call(u p, u* q) {
  rdb_begin
    printf("behind_call %u\n", p);
  rdb_end
  return *q ? garr[0] : p;
}

// Two regions with nothing but a write between them.
static u cleared(u p, u* q) {
  if (p) gv = 3u;
  memset(&hs, 0, sizeof hs);
  return *q;
}
static void in_turn(u p, u q, u r) {
  gs.n.d = cleared(harr[p & 7], &h1);
  struct S v = {0};
  for (u i = 0, n = ((v.n.d - r) | v.f[4]) & 7; i < n; i++) {
    rdb_begin
      printf("in_turn 1: %u\n", p);
    rdb_end
    h1 = 0;
    rdb_begin
      printf("in_turn 2: %u\n", gs.a);
    rdb_end
    cleared((q ? hs.bits : v.c) - 7u, &h1);
  }
}

// The end of the loop is done ahead of the branch out of it.
__attribute__((noinline)) static u rotated(u p) {
  for (u i = 0, n = p; i < n; i++) {
    p -= p;
    rdb_begin
      printf("rotated %u\n", p);
    rdb_end
  }
  return ((p >> 6) - p) >> 5;
}

// Both branches become one, with the regions of both.
static void doubled(struct S p) {
  if (!g0) return;
  for (u i = 0; i < 2; i++) {
    p.n.d = p.n.e ? p.f[3] < p.n.e : p.f[0] + g2;
    rdb_begin
      printf("doubled %u\n", gu[2]);
    rdb_end
    for (u k = 0; k < 8; k++) harr[k] = harr[k] * (gs.f[2] ? p.n.e : p.c);
  }
  for (u k = 0; k < 16; k++) gb[k] = gb[15 - k];
}
void doubled_of_global(void) { doubled(gs); }

// The write to gb becomes a vector, and is done behind all the loops.
void vector(void) {
  for (u i = 0; i < 3; i++) {
    for (u j = 0; j < 8; j++) {
      for (u k = 0; k < 8; k++) harr[k] = garr[k] - k;
      for (u k = 0; k < 16; k++) gb[k] = k;
    }
    for (u k = 0; k < 8; k++) garr[k] = harr[k] - 16u;
    for (u j = 0; j < 8; j++) {
      for (u k = 0; k < 8; k++) harr[k] = garr[k] + garr[i & 7];
      rdb_begin
        printf("vector %u\n", gb[4]);
      rdb_end
    }
  }
}

// Two arms do the same, and one of them stays for both.
struct B { unsigned a : 3, b : 13; signed c : 7; unsigned d : 9; unsigned long e : 40; } gB = {1, 2, 3, 4, 5};
__attribute__((noinline)) static u arms(u p) {
  switch ((garr[p & 7] << (h1 & 3)) % 9) {
  case 0: gB.c = 1; break;
  case 1: gB.c = 8; break;
  case 2: gB.c = 30; break;
  case 5: gB.c = 36;
    rdb_begin
      printf("arms %u\n", p);
    rdb_end
  case 6: gB.c = 43; break;
  case 7: gB.c = p >> g2; break;
  default: gB.c ^= 5;
  }
  return p;
}

int main(int argc, char** argv) {
  (void)argv;
  u x = argc;
  struct S m = {argc, 2, 3, {4, 5}};
  for (u i = 0; i < 2; i++) {
    x += i;
    printf("%u %u\n", x, m.a);
    x = behind_call(x + i, &x);
  }
  for (u i = 0; i < 2; i++)
    in_turn(i, i, i);
  for (u i = 0; i < 2; i++)
    rotated(argc + i);
  doubled(m);
  printf("%u\n", x);
  doubled_of_global();
  h1 = 0;
  for (u i = 0; i < 8; i++) {
    garr[i] = i + 1;
    printf("%u %u\n", arms(i), gB.c);
  }
  memset(gb, 0, sizeof gb);
  vector();
  return gu[3]; // 0, and the linker keeps it for the debug code
}
