// Another unit with the same local names.
#include "unit.h"

static int count = 1000;
__attribute__((noinline)) static int twice(int x) {
  static int calls = 50;
  calls += x;
  return calls * 2 + count++;
}
int said;
int puts_like(const char *text) {
  while (*text) said = said * 31 + *text++;
  return said;
}
int other_unit(int x) { return twice(x) & 0xff; }
