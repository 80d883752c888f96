// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The address of a local variable is used after its function has returned.
#include <stdio.h>

static int* volatile kept;

static void __attribute__((noinline)) keep(void) {
  int local = 7;
  kept = &local;
}

int main(void) {
  keep();
  printf("%d\n", *kept);
  return 0;
}
