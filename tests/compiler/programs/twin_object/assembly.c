#include <rdb/rdb.h>
#include <stdio.h>
static inline __attribute__((always_inline)) int constant(int x) {
  int result;
  __asm__("movl %1, %0" : "=r"(result) : "i"(x));
  return result;
}
int main(int argc, char **argv) {
  int a = constant(3) + argc;
  rdb_begin
  printf("%d\n", a);
  rdb_end
  return a - 4;
}
