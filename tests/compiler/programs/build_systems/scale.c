#include <rdb/rdb.h>
static int factor = 6;
int shared_scale(int x) {
  int result = x * factor;
  rdb_begin
    __builtin_printf("result %d\n", result);
  rdb_end
  return result;
}
