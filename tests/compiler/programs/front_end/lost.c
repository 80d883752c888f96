#include <rdb/rdb.h>
#include <stdio.h>
static int never(int n) { return n > 5 && n < 5; }
int f(int n) {
  if (never(n)) {
    rdb_begin
      printf("%d\n", n);
    rdb_end
    n += 7;
  }
  return n;
}
