#include <rdb/rdb.h>
#include <stdio.h>
int total;
int main(void) {
  for (int i = 0; i < 5; i++) {
    rdb_begin;
    printf("before %d: %d\n", i, total);
    rdb_end;
    total += i; // add
  }
  puts("end");
  return 0;
}
