#include <assert.h>
#include <stdio.h>
#include "part.h"
static int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * PART; return s; }
int main(int argc, char **argv) {
  assert(argc > 0);
  printf("%d %s %d %s\n", sum(argc), __FILE__, __LINE__, argv[0]);
  return 0;
}
