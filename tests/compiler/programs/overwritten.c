// Values that nobody but a region sees, because another one is assigned right behind it; and regions that come to stand at
// one address.
#include <rdb/rdb.h>
#include <stdio.h>

unsigned limit = 4, calls;

static inline __attribute__((always_inline)) unsigned taken(unsigned n) {
  calls++;
  n = limit;
  rdb_begin
    printf("limit %u\n", n);
  rdb_end
  n = n;
  return 2147483648u;
}

__attribute__((noinline)) void fill(int *out, int n) {
  for (int i = 0; i < 4; i++) {
    rdb_begin
      printf("before %d\n", i);
    rdb_end
    out[i] = n;
    rdb_begin
      printf("behind %d\n", i);
    rdb_end
  }
}

__attribute__((noinline)) int swap(int a, int b) {
  int v = a;
  rdb_begin
    printf("a %d\n", v);
  rdb_end
  v = b;
  rdb_begin
    printf("b %d\n", v);
  rdb_end
  v = a;
  rdb_begin
    printf("a again %d\n", v);
  rdb_end
  return v * b;
}

int main(int argc, char **argv) {
  unsigned x = (unsigned)argc;
  int out[4];
  for (unsigned i = 0; i < 2; i++) {
    x += taken(x + i);
    printf("%u\n", x);
  }
  fill(out, argc);
  printf("%d %d\n", out[3], swap(argc, argc + 4));
  return 0;
}
