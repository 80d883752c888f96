// Two threads add to one variable, one after the other.
#include <pthread.h>
#include <stdio.h>
int shared;
static void *worker(void *step) { for (int i = 0; i < 3; i++) shared += *(int *)step; return 0; }
int main(void) {
  pthread_t threads[2];
  int steps[2] = {1, 10};
  for (int i = 0; i < 2; i++) { pthread_create(&threads[i], 0, worker, &steps[i]); pthread_join(threads[i], 0); }
  printf("%d\n", shared);
}
