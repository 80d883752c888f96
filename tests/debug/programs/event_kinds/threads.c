#include <rdb/rdb.h>
#include <pthread.h>
#include <stdio.h>
int shared;
rdb_begin_globals
static int first, starts, ends, mine, others, calls, returns;
static void started(const struct rdb_event *e) { starts += e->thread == first && e->number != first; }
static void ended(const struct rdb_event *e) {
  ends++;
  printf("end of another: %d\n", e->number == e->thread && e->thread != first);
}
static void wrote(const struct rdb_event *e) { if (e->thread == first) mine++; else others++; }
static void entered(const struct rdb_event *e) { calls++; }
static void left(const struct rdb_event *e) { returns += e->result == 0 && e->thread == rdb_thread(); }
rdb_end_globals
static void *worker(void *count) { for (int i = 0; i < *(int *)count; i++) __atomic_add_fetch(&shared, 1, 0); return 0; }
int main(void) {
  rdb_begin
    first = rdb_thread();
    rdb_on_thread_start(started, 0);
    rdb_on_thread_end(ended, 0);
    rdb_on_write(&shared, sizeof shared, wrote, 0);
    rdb_on_call("worker", entered, 0);
    rdb_on_return("worker", left, 0);
  rdb_end
  pthread_t threads[3];
  int count = 50;
  shared = 1;
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, worker, &count);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  rdb_begin
    printf("starts %d ends %d mine %d others %d calls %d returns %d\n", starts, ends, mine, others, calls, returns);
  rdb_end
  return shared != 151;
}
