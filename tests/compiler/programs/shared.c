// A debug variable that lives from one region to the next, once per call. With the regions compiled in, that
// needs the variable outside of them: hence the declaration that only that build has.
#include <stdio.h>
#include <rdb/rdb.h>

__attribute__((noinline)) int climb(int n) {
#ifdef RDB_INLINE
  int entered = 0;
#endif
  rdb_begin
#ifndef RDB_INLINE
  int entered = 0;
#endif
  entered = n * 100;
  printf("climb n=%d\n", n);
  rdb_end
  int r = n > 0 ? climb(n - 1) + 1 : 0;
  rdb_begin
  printf("climbed n=%d entered=%d r=%d\n", n, entered, r);
  rdb_end
  return r;
}

int main(void) { return climb(3) == 3 ? 0 : 1; }
