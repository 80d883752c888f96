#include <rdb/rdb.h>
#include <stdio.h>
int lookups;
static int find(int n) { lookups++; return n * 3; }
int main(int argc, char **argv) {
  rdb_begin
    printf("%d\n", find(argc));
  rdb_end
  return find(argc) - 3;
}
