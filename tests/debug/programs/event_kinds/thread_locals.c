#include <rdb/rdb.h>
#include <pthread.h>
#include <stdio.h>
_Thread_local int mine = 1;
_Thread_local long large[100];
pthread_barrier_t barrier;
rdb_begin_globals
static long sums[8], calls, wrong;
static void told(const struct rdb_event *e) {
  calls++;
  sums[e->arguments[0]] += mine;
  wrong += large[99] != 10 * (long)e->arguments[0];
}
static void ended(const struct rdb_event *e) { wrong += mine < 1; }
rdb_end_globals
__attribute__((noinline)) static void step(long number) {
  __asm__ volatile("" : : "r"(number) : "memory");
  mine++;
}
static void *worker(void *argument) {
  long number = (long)argument;
  large[99] = 10 * number;
  mine = 100 * (int)number;
  for (int i = 0; i < 3; i++) {
    pthread_barrier_wait(&barrier);
    step(number);
  }
  return 0;
}
int main(void) {
  rdb_begin
    rdb_on_call("step", told, 0);
    rdb_on_thread_end(ended, 0);
    printf("%d\n", mine);
  rdb_end
  pthread_barrier_init(&barrier, 0, 3);
  pthread_t threads[3];
  for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, worker, (void *)(i + 1));
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  step(0);
  rdb_begin
    printf("%ld %ld %ld %ld, %ld calls, %ld wrong\n", sums[0], sums[1], sums[2], sums[3], calls, wrong);
  rdb_end
  return mine != 2;
}
