// Calls that two branches have in common are made behind both, or ahead of them: past regions. What they print
// shows it, and one that does not come back: what is behind it is not reached.
#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>

static volatile int total, other;

__attribute__((noinline)) static void check(int n) {
  printf("check %d\n", n);
  if (n == 5) exit(0);
}

__attribute__((noinline)) static void behind(int c, int n) {
  if (c) {
    total += 2;
    check(n);
    rdb_begin
      printf("behind then %d\n", n);
    rdb_end
  } else {
    other -= n;
    check(n);
    rdb_begin
      printf("behind else %d\n", n);
    rdb_end
  }
}

__attribute__((noinline)) static void ahead(int c, int n) {
  if (c) {
    rdb_begin
      printf("ahead then %d\n", n);
    rdb_end
    check(n);
    total += 2;
  } else {
    rdb_begin
      printf("ahead else %d\n", n);
    rdb_end
    check(n);
    other -= n;
  }
}

__attribute__((noinline)) static void between(int c, int n) {
  if (c) {
    check(n);
    rdb_begin
      printf("between %d\n", n);
    rdb_end
    check(n + 1);
  } else {
    check(n + 1);
  }
}

static void (*volatile checker)(int) = check;

__attribute__((noinline)) static void by_address(int c, int n) {
  void (*call)(int) = checker;
  if (c) {
    total += 2;
    call(n);
    rdb_begin
      printf("by address then %d\n", n);
    rdb_end
  } else {
    other -= n;
    call(n);
    rdb_begin
      printf("by address else %d\n", n);
    rdb_end
  }
}

int main(void) {
  for (int n = 0; n < 3; ++n)
    for (int c = 0; c < 2; ++c) {
      behind(c, n);
      ahead(c, n);
      between(c, n);
      by_address(c, n);
    }
  printf("total %d %d\n", total, other);
  behind(1, 5);
  return 0;
}
