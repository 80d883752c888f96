#include <rdb/rdb.h>
#include <stdio.h>
int x;
rdb_begin_globals
static void never(const struct rdb_event *e) { printf("called\n"); }
rdb_end_globals
int main(void) {
  x = 1;
  rdb_begin
    printf("%lu", rdb_on_syscall("wrte", never, 0));
    printf(" %lu", rdb_on_syscall("9999", never, 0));
    printf(" %lu", rdb_on_write(&x, 0, never, 0));
    printf(" %lu", rdb_on_write(&x, ~0ul, never, 0));
    printf(" %lu", rdb_on_write(0, 4, never, 0));
    printf(" %lu", rdb_on_call_at((void *)8, never, 0));
    printf(" %lu", rdb_on_call(0, never, 0));
    printf(" %lu", rdb_on_time(1, never, 0));
    printf(" %lu", rdb_on_exit(0, 0));
    printf(" %d\n", rdb_remove(77));
    rdb_on_call("no_such_function", never, 0);
    char c;
    printf("%zu %zu\n", rdb_read((void *)8, &c, 1), rdb_read(&x, &c, 1));
  rdb_end
  x = 0;
  return x;
}
