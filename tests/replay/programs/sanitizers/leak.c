// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that nothing points to any more when the program ends, and one that a global variable points to.
#include <stdio.h>
#include <stdlib.h>

static char* current;
static void* kept;

static void allocate(int count) {
  for (int i = 0; i < count; ++i)
    current = malloc(100);
}

static void forget(void) {
  current = NULL;
}

int main(void) {
  kept = malloc(50);
  allocate(3);
  forget();
  printf("done\n");
  return 0;
}
