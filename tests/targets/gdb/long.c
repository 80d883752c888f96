// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// long TURNS MEGABYTES: says that it begins, then loops, and at times writes all over its memory.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long turns_done;

static void spin(void) {
  for (long i = 0; i < 10000000; i++)
    __asm__ volatile("" : : "r"(i));
}

int main(int argc, char** argv) {
  long turns = argc > 1 ? atol(argv[1]) : 1;
  size_t size = (argc > 2 ? strtoul(argv[2], 0, 10) : 1) << 20;
  char* memory = malloc(size);
  puts("begins");
  fflush(stdout);
  for (; turns_done < turns; turns_done++) {
    memset(memory, (int)turns_done, size);
    spin();
  }
  return memory[size - 1];
}
