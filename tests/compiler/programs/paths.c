// Regions at the ends of branches that the optimiser makes one: with the same end, with nothing but a choice of values
// in them, with a common call. Each must run on its own path alone.
#include <rdb/rdb.h>
#include <stdio.h>
static int total, calls;
__attribute__((noinline)) static void note(int n) { calls += n; }
// Two branches that end alike.
__attribute__((noinline)) static int same_end(int n) {
  if (n & 1) {
    total += n;
    note(3);
    rdb_begin
      printf("odd %d\n", n);
    rdb_end
  } else {
    total -= n;
    note(3);
    rdb_begin
      printf("even %d\n", n);
    rdb_end
  }
  return total;
}
// A branch that becomes a conditional move.
__attribute__((noinline)) static int chosen(int n) {
  int r = 7;
  if (n > 2) {
    r = 9;
    rdb_begin
      printf("large %d\n", n);
    rdb_end
  }
  return r + n;
}
// An end that others jump to.
__attribute__((noinline)) static int joined(int n, int *at) {
  if (n == 1) {
    *at = 5;
    rdb_begin
      printf("joined one %d\n", *at);
    rdb_end
  } else if (n == 2) {
    *at = 5;
  } else if (n == 3) {
    *at = 5;
    rdb_begin
      printf("joined three %d\n", *at);
    rdb_end
  }
  return *at;
}
// A branch with nothing but the region in it.
__attribute__((noinline)) static int empty(int n) {
  if (n == 2) {
    rdb_begin
      printf("empty %d\n", n);
    rdb_end
  }
  return n * 3;
}
// The turns of a loop that a condition on its counter splits.
__attribute__((noinline)) static int turns(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    if (i == 0) {
      sum += 2;
      rdb_begin
        printf("first of %d\n", n);
      rdb_end
    } else {
      sum += 2;
    }
    if (i + 1 == n) {
      rdb_begin
        printf("last of %d\n", n);
      rdb_end
    }
  }
  return sum;
}
static int select_case(int n) {
  switch (n) {
  case 0: return 10;
  case 1:
    rdb_begin
      printf("case 1\n");
    rdb_end
    return 20;
  case 2: return 30;
  default: return 40;
  }
}
int main(void) {
  int at = 0, sum = 0;
  for (int n = 0; n < 5; n++)
    sum += same_end(n) + chosen(n) + joined(n, &at) + empty(n) + turns(n) + select_case(n);
  printf("%d %d %d\n", sum, total, calls);
  return 0;
}
