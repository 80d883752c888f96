#include <rdb/rdb.h>
#include <stdio.h>
rdb_begin_globals
static int __rdb_calls;
__attribute__((annotate("rdb"))) static int noted(int n) { return n + ++__rdb_calls; }
rdb_end_globals
int main(int argc, char **argv) {
  rdb_begin
    printf("%d\n", noted(argc));
    printf("%d\n", noted(argc));
  rdb_end
  return argc - 1;
}
