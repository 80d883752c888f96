// Static variables of debug-only functions, and of regions, are debug code's own.
#include <rdb/rdb.h>
#include <stdio.h>

rdb_begin_globals
static int calls(void) {
  static int count;
  return ++count;
}
static const char *name(int n) {
  static const char *const names[] = {"even", "odd"};
  return names[n & 1];
}
rdb_end_globals

__attribute__((noinline)) static int twice(int n) {
  rdb_begin
    static int seen;
    printf("call %d, %d is %s, region %d\n", calls(), n, name(n), ++seen);
  rdb_end
  return 2 * n;
}

int main(int argc, char **argv) {
  int sum = 0;
  for (int i = 0; i < 5; i++) sum += twice(i + argc);
  rdb_begin
    printf("at last call %d\n", calls());
  rdb_end
  printf("%d\n", sum);
  return 0;
}
