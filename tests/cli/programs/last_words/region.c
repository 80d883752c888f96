// One region, and a line of the program.
#include <rdb/rdb.h>
#include <stdio.h>
int main(void) {
  int n = 3;
rdb_begin
  printf("n %d\n", n);
rdb_end
  printf("end %d\n", n);
  return 4;
}
