#include <rdb/rdb.h>
#include <stdio.h>
unsigned mix(unsigned x, unsigned y) {
%s  rdb_begin
    printf("%%u\n", x);
  rdb_end
  return x;
}
int main(int argc, char **argv) {
  printf("%%u\n", mix(argc, 4));
  return 0;
}
