// A variable of one region used by a later one, once per call; recursion.
#include <rdb/rdb.h>
#include <stdio.h>
static long factorial(int n) {
  rdb_begin
    int level = n * 10;
    printf("enter %d\n", n);
  rdb_end
  long result = n < 2 ? 1 : n * factorial(n - 1);
  rdb_begin
    printf("leave %d: level %d result %ld\n", n, level, result);
  rdb_end
  return result;
}
int main(void) {
  printf("%ld\n", factorial(5));
  return 0;
}
