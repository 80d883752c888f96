// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A shift by more bits than there are, and a sum that has no room.
#include <limits.h>
#include <stdio.h>

static int shifted(int value, int by) {
  return value << by;
}

int main(int argc, char** argv) {
  (void)argv;
  volatile int large = INT_MAX;
  int shift = shifted(1, 39 + argc);
  int sum = large + argc;
  printf("%d\n", (shift & 0) + (sum & 0));
  return 0;
}
