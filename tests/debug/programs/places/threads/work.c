#include <rdb/rdb.h>
#include <stdio.h>
static __thread int rounds;
static int all;
rdb_begin_globals
static int seen;
rdb_end_globals
int worked(void) { return all; }
void work(int tid, int round) {
  rounds++;
  __atomic_add_fetch(&all, 1, __ATOMIC_SEQ_CST);
  rdb_begin
    printf("work %d round %d own %d seen %d\n", tid, round, rounds, ++seen);
  rdb_end
  rounds += 0;
}
