#include <rdb/rdb.h>
#include <stdio.h>
int calls;
static int twice(int n) { return 2 * n; }
rdb_begin_globals
static int hits;
rdb_end_globals
int work(int n) {
  calls++;
  rdb_begin
    printf("work %d: %d calls, %d, hit %d\n", n, calls, twice(n), ++hits);
  rdb_end
  return n + calls;
}
