#include <stdio.h>
#include "own.h"
int main(void) {
  int n = own();
rdb_begin
  printf("the region sees %d\n", n);
rdb_end
  puts("the program");
  return n - 7;
}
