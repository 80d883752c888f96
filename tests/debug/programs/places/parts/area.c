#include <rdb/rdb.h>
#include <stdio.h>
static int calls;
int area(int w, int h) {
  calls++;
  int result = w * h;
  rdb_begin
    printf("area %d x %d, call %d\n", w, h, calls);
  rdb_end
  return result;
}
