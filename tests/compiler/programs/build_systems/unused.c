#include <rdb/rdb.h>
int nobody_calls_this(int x) {
  rdb_begin
    __builtin_printf("x=%d\n", x);
  rdb_end
  return x;
}
