// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lost update: the result depends on where turns end.
#include <pthread.h>
#include <stdio.h>

static volatile long counter;

static void* body(void* arg) {
  for (int i = 0; i < 300000; ++i)
    counter = counter + 1;
  return arg;
}

int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    pthread_create(&threads[i], NULL, body, NULL);
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], NULL);
  printf("%ld\n", counter);
  return 0;
}
