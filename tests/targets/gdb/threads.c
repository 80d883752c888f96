// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads that count, and a third that waits for them.
#include <pthread.h>

long counts[2];
static __thread long* mine;
static void* work(void* which) {
  long* count = mine = which;
  for (int i = 0; i < 20; i++)
    *count += 1; // work
  return 0;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, work, &counts[0]);
  pthread_create(&threads[1], 0, work, &counts[1]);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
  return (int)(counts[0] + counts[1]); // joined
}
