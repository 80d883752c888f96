#include <rdb/rdb.h>
#include <stdio.h>
int total;
__attribute__((noinline)) static int add(const int *values, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    sum = sum * 3 + values[i];
    rdb_begin
      printf("sum %d at %d\n", sum, i);
    rdb_end
  }
  total += sum;
  return sum;
}
int main(int argc, char **argv) {
  int values[4] = {3, 1, 4, argc};
  return add(values, 3 + argc) == 102 + argc ? 0 : 1;
}
