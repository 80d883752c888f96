// Loops, branches, assert and __LINE__ after regions.
#include <assert.h>
#include <stdio.h>
#include <rdb/rdb.h>

static int N;
static int *x;

static int sum(int *a, int n) {
  int total = 0;
  for (int i = 0; i < n; i++) {
    total += a[i];
    rdb_begin
      if (total > 3) printf("i=%d total=%d\n", i, total);
    rdb_end
  }
  assert(total >= 0);
  return total;
}

int main(int argc, char **argv) {
  int a[] = {1, 2, 3, 4};
  int n = 3 + argc;
  if (n > 3) {
    N = n;
    x = a;
    rdb_begin
      int i;
      for (i = 0; i < N; i++) printf("x[%d]=%d\n", i, x[i]);
    rdb_end
  }
  printf("%s: %d at %d\n", argv[1] ? argv[1] : "sum", sum(a, n), __LINE__);
#ifdef DEBUG
  rdb_begin
    printf("argv[0]=%s\n", argv[0]);
  rdb_end
#endif
  return __LINE__ - 33;
}
