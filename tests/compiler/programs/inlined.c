// Inline functions and unrolled loops: many instances of one region; a region at the end of a branch.
#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
static inline int clamp(int v, int lo, int hi) {
  if (v < lo) {
    v = lo;
    rdb_begin
      printf("raised to %d\n", v);
    rdb_end
  }
  return v > hi ? hi : v;
}
static inline long dot(const int *a, const int *b) {
  long sum = 0;
  for (int i = 0; i < 4; i++) {
    sum += (long)a[i] * b[i];
    rdb_begin
      printf("i=%d sum=%ld\n", i, sum);
    rdb_end
  }
  return sum;
}
int main(int argc, char **argv) {
  int a[4], b[4];
  for (int i = 0; i < 4; i++) {
    a[i] = clamp(argc > 1 ? atoi(argv[1]) : i - 2, 0, 5);
    b[i] = clamp(i, 1, 2);
  }
  printf("%ld %ld\n", dot(a, b), dot(b, a));
  return 0;
}
