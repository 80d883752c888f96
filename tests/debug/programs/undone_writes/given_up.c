#include <rdb/rdb.h>
#include <stdio.h>
int values[4000];
int main(void) {
  int *p = values;
  for (int i = 0; i < 3; i++) {
    p[i] = i;
    rdb_begin
      for (int k = 0; k < 4000; k++) p[k] = -1;
      printf("%d\n", values[3999]);
      *(volatile const char *)values;
      *(volatile char *)"constant" = 1;
    rdb_end
  }
  printf("%d %d\n", values[2], values[3999]);
  return 0;
}
