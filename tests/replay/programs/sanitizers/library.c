// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library with a bug in it, and a part of a program without a sanitizer.
#ifdef LIBRARY
#include <stdlib.h>
int last_of(int count) {
  int* numbers = malloc((size_t)count * sizeof *numbers);
  for (int i = 0; i < count; ++i)
    numbers[i] = i;
  int result = numbers[count];
  free(numbers);
  return result;
}
#else
#include <stdio.h>
int last_of(int count);
int main(void) {
  printf("%d\n", last_of(5) & 0);
  return 0;
}
#endif
