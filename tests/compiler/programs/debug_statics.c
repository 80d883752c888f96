// Static variables of debug-only functions, and of regions, are debug code's own. What they begin with may be in the program.
#include <rdb/rdb.h>
#include <stdio.h>

int limits[3] = {1, 20, 300};
__attribute__((noinline)) int half(int n) { return n / 2; }

rdb_begin_globals
static const struct {
  const char *name;
  int (*function)(int);
  int *limit;
} rules[] = {{"halved", half, &limits[1]}, {"kept", 0, &limits[2]}};
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
    static int *const first = limits;
    printf("at last call %d\n", calls());
    printf("%s %d of %d, %s of %d, first %d\n", rules[0].name, rules[0].function(sum), *rules[0].limit, rules[1].name,
           *rules[1].limit, *first);
  rdb_end
  printf("%d %d\n", sum, half(limits[argc]));
  return 0;
}
