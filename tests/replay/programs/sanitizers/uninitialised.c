// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A branch depends on memory that nothing was written to.
#include <stdio.h>
#include <stdlib.h>

static int choose(const int* values, int index) {
  if (values[index] > 3) return 1;
  return 2;
}

int main(void) {
  int* values = malloc(4 * sizeof *values);
  values[0] = 5;
  int first = choose(values, 0);
  int second = choose(values, 2);
  printf("%d %d\n", first, second != 0);
  free(values);
  return 0;
}
