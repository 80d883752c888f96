// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The worker uses what main sets up only after starting it. Fails when the worker comes first.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int* volatile table;
static volatile int failed;

static void* worker(void* arg) {
  volatile unsigned long work = 1;
  for (int k = 0; k < 30000; ++k)
    work = work * 6364136223846793005ul + 1;
  if (table == NULL) failed = 1;
  return arg;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  table = calloc(16, sizeof(int));
  pthread_join(thread, NULL);
  if (failed) printf("order violation\n");
  free(table);
  return failed;
}
