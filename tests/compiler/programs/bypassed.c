// A value that is true or false and only leads on: the optimiser leads the ways around it.
#include <rdb/rdb.h>
#include <stdio.h>

__attribute__((noinline)) int choose(int x, int z, int y) {
  int is_apart = ((((unsigned)z < 9 || x != x) && y != z) && ((z == 0 ? (y & 1) == 0 : z != x) && !(y == z)));
  _Bool unused = (is_apart && (x > 3) & ((x & 4) == 0)) && (z > 0 ? !((unsigned)x < 1) : !(z != 0));
  rdb_begin
    printf("x %d, apart %d\n", x, is_apart);
  rdb_end
  return x == 1 ? y : x;
}

int main(void) {
  int sum = 0;
  for (int x = 0; x < 8; x++)
    for (int z = 0; z < 8; z++)
      for (int y = 0; y < 3; y++)
        sum += choose(x, z, y);
  return sum == 12345;
}
