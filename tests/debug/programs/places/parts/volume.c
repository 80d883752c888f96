#include <rdb/rdb.h>
#include <stdio.h>
static int calls;
static __thread int last;
int shared_calls(void) { return calls; }
static int twice(int n) { return 2 * n; }
int volume(int w, int h, int d) {
  calls += 1;
  int result = w * h * d;
  last = result;
  rdb_begin
    printf("volume %d, call %d, twice %d\n", last, calls, twice(result));
  rdb_end
  return twice(result) / 2;
}
