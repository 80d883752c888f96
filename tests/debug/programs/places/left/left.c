#include <rdb/rdb.h>
#include <setjmp.h>
#include <stdio.h>
static jmp_buf out;
static volatile int total;
__attribute__((noinline)) static int check(int n) {
  if (n == 1) longjmp(out, 1);
  total++;
  return 2 * n;
}
__attribute__((noinline)) static void far(int c, int n) {
  if (c) {
    total += 2;
  } else {
    check(n);
    rdb_begin
      printf("far %d\n", n);
    rdb_end
  }
}
__attribute__((noinline)) static void near(int n) {
  if (!setjmp(out)) {
    check(n);
    rdb_begin
      printf("near %d\n", n);
    rdb_end
  }
  total++;
}
int main(void) {
  for (int n = 0; n < 3; ++n) {
    if (!setjmp(out)) far(0, n);
    far(1, n);
    near(n);
  }
  return total - 13;
}
