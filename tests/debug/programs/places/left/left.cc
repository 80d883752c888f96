#include <cstdio>
#include <rdb/rdb.h>
static volatile int total;
__attribute__((noinline)) static void check(int n) {
  if (n == 1) throw n;
  total = total + 1;
}
__attribute__((noinline)) static void near(int n) {
  try {
    check(n);
    rdb_begin
      printf("near %d\n", n);
    rdb_end
  } catch (int) {
  }
  total = total + 1;
}
__attribute__((noinline)) static void far(int c, int n) {
  if (c) {
    total = total + 2;
  } else {
    check(n);
    rdb_begin
      printf("far %d\n", n);
    rdb_end
  }
}
int main() {
  for (int n = 0; n < 3; ++n) {
    try {
      far(0, n);
    } catch (int) {
    }
    far(1, n);
    near(n);
  }
  return total - 13;
}
