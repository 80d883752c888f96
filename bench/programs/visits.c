// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// visits TIMES WORK: a function that is called TIMES times, with WORK rounds of a loop between.
#include <stdio.h>
#include <stdlib.h>

long total;

__attribute__((noinline)) void visit(long n) {
  total += n;
  __asm__ volatile("" : : : "memory");
}

int main(int argc, char** argv) {
  long times = argc > 1 ? atol(argv[1]) : 1, work = argc > 2 ? atol(argv[2]) : 0;
  for (long i = 0; i < times; i++) {
    for (long j = 0; j < work; j++)
      __asm__ volatile("" : : "r"(j));
    visit(i);
  }
  printf("%ld\n", total);
  return 0;
}
