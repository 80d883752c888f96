// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// OpenMP: loops with all schedules, reductions, sections, tasks, locks and barriers.
#include <omp.h>
#include <stdio.h>

static long fibonacci(int n) {
  if (n < 2) return n;
  long a, b;
#pragma omp task shared(a) if (n > 8)
  a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 8)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

int main(void) {
  enum { kCount = 10000 };
  static long square[kCount];
  omp_set_num_threads(4);
  long sum = 0;
#pragma omp parallel for schedule(static)
  for (long i = 0; i < kCount; ++i)
    square[i] = i * i;
#pragma omp parallel for schedule(dynamic, 7) reduction(+ : sum)
  for (int i = 0; i < kCount; ++i)
    sum += square[i];
#pragma omp parallel for schedule(guided) reduction(max : sum)
  for (int i = 0; i < kCount; ++i)
    if (square[i] > sum) sum = square[i];
  printf("sum %ld\n", sum);

  long fib = 0;
#pragma omp parallel
#pragma omp single
  fib = fibonacci(16);
  printf("tasks %ld\n", fib);

  int inside = 0, most = 0, threads = 0;
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel
  {
#pragma omp atomic
    ++threads;
#pragma omp barrier
    for (int i = 0; i < 100; ++i) {
      omp_set_lock(&lock);
      ++inside;
      if (inside > most) most = inside;
      --inside;
      omp_unset_lock(&lock);
#pragma omp critical
      ++sum;
    }
#pragma omp sections
    {
#pragma omp section
      sum += 0;
#pragma omp section
      square[0] = 1;
    }
  }
  omp_destroy_lock(&lock);
  printf("threads %d, at once %d, sum %ld, section %ld\n", threads, most, sum, square[0]);
  return 0;
}
