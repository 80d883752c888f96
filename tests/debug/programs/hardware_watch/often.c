#include <rdb/rdb.h>
#include <pthread.h>
#include <stdio.h>
long cells[4];
rdb_begin_globals
static unsigned long events, digest;
static void count(const struct rdb_event *e) {
  events++;
  digest = digest * 31 + e->time * 7 + (unsigned long)e->thread * 0 + *(const long *)e->old_bytes * 3 +
      *(const long *)e->new_bytes +
           e->registers->rip;
}
rdb_end_globals
static void *worker(void *cell) {
  for (int i = 0; i < 4000; i++) { *(volatile long *)cell += i; __atomic_add_fetch(&cells[3], 1, 0); }
  return 0;
}
int main(void) {
  rdb_begin
    for (int i = 0; i < 3; i++) rdb_on_write(&cells[i], sizeof cells[i], count, 0);
  rdb_end
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, worker, &cells[i]);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  rdb_begin
    printf("%lu %lx\n", events, digest);
  rdb_end
  return cells[3] != 12000;
}
