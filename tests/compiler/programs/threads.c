// Thread-local variables, debug-only globals and helper functions.
#include <pthread.h>
#include <rdb/rdb.h>
#include <stdio.h>
_Thread_local int depth;
static _Thread_local char label[16];
rdb_begin_globals
#include <time.h>
static int calls;
static int count_call(const char *what) {
  printf("call %d: %s\n", ++calls, what);
  return calls;
}
rdb_end_globals
static void *worker(void *argument) {
  int *slot = argument;
  depth = *slot;
  snprintf(label, sizeof label, "thread %d", depth);
  rdb_begin
    count_call(label);
    printf("depth=%d slot=%d\n", depth, *slot);
  rdb_end
  *slot = depth * 2;
  return 0;
}
int main(void) {
  pthread_t threads[2];
  int values[2] = {3, 4};
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, worker, &values[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  printf("%d %d\n", values[0], values[1]);
  return 0;
}
