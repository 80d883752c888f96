// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls, recursion, a global that changes, vectors and a system call: one of each thing a user steps through.
#include <immintrin.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int counter;
double scale = 1.5;
struct point {
  int x, y;
} origin = {3, 4};
char name[16] = "rdb";

__attribute__((noinline)) int factorial(int n) {
  if (n < 2) return 1;
  int below = factorial(n - 1);
  return n * below;
}

__attribute__((noinline)) int add(int a, int b) {
  counter += a;
  return a + b;
}

__attribute__((noinline, target("avx"))) double vectors(double start) {
  __m256d all = _mm256_set_pd(4, 3, 2, start);
  double out[4];
  _mm256_storeu_pd(out, _mm256_add_pd(all, all));
  return out[0];
}

int main(int argc, char** argv) {
  int total = argc - 1;
  for (int i = 0; i < 5; i++) // loop
    total = add(i, total);
  total += factorial(4);  // recursion
  scale = vectors(scale); // avx
  strcpy(name, "done");
  if (write(1, "out\n", 4) < 0) // write
    return 1;
  origin.x = total; // last
  return total == 34 ? 7 : 0;
}
