// The example of docs/debug-code.md.
#include <rdb/rdb.h>
#include <stdio.h>

static int seen;

static double average(const int *values, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    sum += values[i];
    seen++;
    rdb_begin
      if (sum > 5) printf("after %d: sum %d, seen %d\n", i, sum, seen);
    rdb_end
  }
  return n ? (double)sum / n : 0;
}

int main(void) {
  int values[] = {1, 2, 3, 4};
  printf("%g\n", average(values, 4));
  return 0;
}
