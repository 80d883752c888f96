// A static variable of which the optimiser makes a boolean, because it has two values only.
#include <rdb/rdb.h>
#include <stdio.h>

static unsigned mode = 5;
static int calls;

__attribute__((noinline)) void set(void) { mode = 0; }

__attribute__((noinline)) unsigned use(unsigned n) {
  n += mode;
  rdb_begin
    printf("mode %u\n", mode);
  rdb_end
  return n ^ (unsigned)++calls;
}

int main(int argc, char **argv) {
  unsigned n = use((unsigned)argc);
  set();
  n = use(n);
  printf("%u\n", n);
  return 0;
}
