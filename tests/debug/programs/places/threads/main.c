#include <pthread.h>
#include <rdb/rdb.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
void work(int tid, int round);
int worked(void);
__thread int own;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
rdb_begin_globals
static int hits, last_thread, turns;
rdb_end_globals
int bump(int by) { own += by; return own; }
static void *run(void *argument) {
  int tid = (int)syscall(SYS_gettid);
  own = *(int *)argument;
  for (int round = 0; round < 20; round++) {
    pthread_mutex_lock(&lock);
    total++;
    rdb_begin
      hits++;
      turns += tid != last_thread;
      last_thread = tid;
      printf("main %d round %d total %d own %d bumped %d\n", tid, round, total, own, bump(1000));
    rdb_end
    pthread_mutex_unlock(&lock);
    work(tid, round);
    own += 1;
    for (volatile int k = 0; k < 3000; k++) {}
  }
  return 0;
}
int main(void) {
  pthread_t threads[3];
  int starts[3] = {100, 200, 300};
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, run, &starts[i]);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  rdb_begin
    printf("hits %d total %d\n", hits, total);
  rdb_end
  printf("%d %d\n", total, worked());
  return 0;
}
