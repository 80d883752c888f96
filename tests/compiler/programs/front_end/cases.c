#include <rdb/rdb.h>
#include <stdio.h>
int work(int x) {
  int r = x;
  rdb_begin
    printf("begin %d\n", x);
  rdb_end
  switch (x) {
  case 1:
    rdb_begin
      printf("one\n");
    rdb_end
  case 2:
    r += 5;
    break;
  case 3:
    rdb_begin
      printf("three\n");
    rdb_end
    break;
  }
  return r;
}
int main(void) {
  return work(1) + work(3) - 9;
}
