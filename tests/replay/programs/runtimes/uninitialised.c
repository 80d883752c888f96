// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A branch depends on memory that nothing was written to; a block is lost.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  int* volatile numbers = malloc(10 * sizeof *numbers);
  if (numbers[3] == 5) printf("five\n");
  numbers = NULL;
  printf("end\n");
  return 0;
}
