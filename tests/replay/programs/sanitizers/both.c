// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An undefined shift, which is reported, and then an overflow of a variable on the stack, which ends the program.
#include <stdio.h>

static void fill(int* numbers, int count) {
  for (int i = 0; i <= count; ++i)
    numbers[i] = i << (i + 25);
}

int main(void) {
  int numbers[8];
  fill(numbers, 8);
  printf("%d\n", numbers[3]);
  return 0;
}
