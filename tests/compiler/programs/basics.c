// Loops, structs, arrays, unions, bitfields, pointers, statics, switch, goto, variable-length arrays.
#include <assert.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdb/rdb.h>

struct Point { int x, y; };
struct Bits { unsigned a : 3, b : 5; int c : 9; };
union Both { int i; float f; unsigned char bytes[8]; };

static int calls;
int visible = 7;
static const int table[4] = {1, 2, 4, 8};

rdb_begin_globals
static int debug_count;
static void show(const char *what, int value) { printf("debug %s=%d #%d\n", what, value, ++debug_count); }
rdb_end_globals

__attribute__((noinline)) static int step(int n) {
  static int before;
  int delta = n - before;
  before = n;
  calls++;
  rdb_begin
    printf("step n=%d delta=%d calls=%d\n", n, delta, calls);
  rdb_end
  return delta;
}

__attribute__((noinline)) int points(struct Point *p, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    sum += p[i].x * p[i].y;
    rdb_begin
      int j;
      for (j = 0; j <= i; j++)
        printf("points i=%d sum=%d x=%d\n", i, sum, p[j].x);
    rdb_end
    if (sum > 20) {
      visible = sum;
      rdb_begin
      show("sum", sum);
      rdb_end
    }
  }
  assert(__LINE__ > 0);
  return sum;
}

__attribute__((noinline)) int choose(int k) {
  int r = 0;
  switch (k) {
  case 0:
    r = 10;
    rdb_begin
    printf("case 0 r=%d\n", r);
    rdb_end
    break;
  case 1:
    r = 20;
    // falls through
  default:
    rdb_begin
    printf("default r=%d k=%d\n", r, k);
    rdb_end
    r += table[k & 3];
  }
  return r;
}

__attribute__((noinline)) int packed(struct Bits b, union Both u, struct Point q) {
  b.a++;
#ifdef DEBUG
  rdb_begin
    printf("packed a=%d b=%d c=%d i=%d q=%d,%d\n", b.a, b.b, b.c, u.i, q.x, q.y);
  rdb_end
#endif
  return b.a + b.b + b.c + u.i + q.x;
}

__attribute__((noinline)) int again(int n) {
  int i = 0;
retry:
  i++;
  rdb_begin
  printf("again i=%d n=%d\n", i, n);
  rdb_end
  if (i < n) goto retry;
  return i;
}

__attribute__((noinline)) double mixed(double d, float f, long l, char c, unsigned char *text) {
  double sum = d * f + (double)l;
  rdb_begin
  printf("mixed %g %g %ld %c %s %g\n", d, (double)f, l, c, (char *)text, sum);
  rdb_end
  return sum + c;
}

__attribute__((noinline)) int either(int a) {
  int r;
  if (a > 2) {
    r = a * 3;
    rdb_begin
    printf("big a=%d r=%d\n", a, r);
    rdb_end
  } else {
    r = step(a);
  }
  return r;
}

int main(int argc, char **argv) {
  struct Point p[3] = {{1, 2}, {3, 4}, {5, 6}};
  int total = points(p, 3);
  for (int k = 0; k < 3; k++) total += choose(k) + either(k + 1) + step(k);
  struct Bits b = {1, 2, 3};
  union Both u;
  memset(&u, 0, sizeof u);
  u.i = argc;
  total += packed(b, u, p[1]) + again(3);
  total += (int)mixed(1.5, 2.5f, 1000000L, 'z', (unsigned char *)"text");
  rdb_begin
  printf("main total=%d visible=%d\n", total, visible);
  rdb_end
  printf("%d %s\n", total, argv[0] ? "ok" : "");
  return 0;
}
