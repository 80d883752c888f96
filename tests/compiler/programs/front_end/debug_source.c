#include <rdb/rdb.h>
#include <stdio.h>
rdb_begin_globals
int __rdb_next(int);
__attribute__((destructor)) static void at_end(void) { puts("end"); }
rdb_end_globals
int main(int argc, char **argv) {
  rdb_begin
    printf("next %d\n", __rdb_next(argc));
  rdb_end
  return argc - 1;
}
