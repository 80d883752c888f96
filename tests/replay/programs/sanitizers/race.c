// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads count in one variable without a lock.
#include <pthread.h>
#include <stdio.h>

static int counter;

static void* count(void* times) {
  for (int i = 0; i < *(int*)times; ++i)
    ++counter;
  return NULL;
}

int main(void) {
  int times = 1000;
  pthread_t first, second;
  pthread_create(&first, NULL, count, &times);
  pthread_create(&second, NULL, count, &times);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
  printf("end\n");
  return 0;
}
