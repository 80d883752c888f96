// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop writes one byte after the end of the buffer; the program reports where that happened.
#include <stdio.h>
#include <stdlib.h>

static void fill(char* text, int count) {
  for (int i = 0; i <= count; ++i)
    text[i] = 'a';
}

int main(void) {
  int size = 12;
  char* text = malloc((size_t)size);
  printf("before\n");
  fflush(stdout);
  fill(text, size);
  printf("after %c\n", text[0]);
  free(text);
  return 0;
}
