// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "statistics.h"

#include "backend.h"

#include <stdio.h>

static struct {
  long answered;
  long expired; // written by the timer alone
  long ticks;   // that those answered took, in all
  long longest;
} of[kMaxBackends];

static long late;

void statistics_answered(int backend, long ticks) {
  of[backend].answered++;
  of[backend].ticks += ticks;
  if (ticks > of[backend].longest) of[backend].longest = ticks;
}

void statistics_expired(int backend) {
  of[backend].expired++;
}

void statistics_late(void) {
  late++;
}

void statistics_print(void) {
  for (int i = 0; i < backends_count(); i++) {
    double mean = of[i].answered ? (double)of[i].ticks / (double)of[i].answered : 0;
    printf("%-8s %5ld answered, %5ld expired, %.2f ms, at most %ld ms\n", backend_name(i), of[i].answered,
           of[i].expired, mean, of[i].longest);
  }
  printf("%ld replies came too late\n", late);
}
