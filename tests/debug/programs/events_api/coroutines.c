#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
rdb_begin_globals
static long quick[100];
static int noted;
static void on_quick(const struct rdb_event *e) { quick[noted++] = e->result; }
static void on_step(const struct rdb_event *e) { printf("returned %ld\n", e->result); }
rdb_end_globals
ucontext_t contexts[3];
int step(int who, int next) {
  if (next >= 0) swapcontext(&contexts[who], &contexts[next]);
  return who;
}
__attribute__((noinline)) int run(int who, int next) {
  int result = step(who, next);
  return result + 10;
}
void routine(int who, int next) {
  run(who, next);
  run(who, -1);
  if (who == 1) setcontext(&contexts[2]);
  setcontext(&contexts[0]);
}
int main(void) {
  rdb_begin
    rdb_on_return("step", CALLBACK, 0);
  rdb_end
  for (int i = 1; i < 3; i++) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = malloc(65536);
    contexts[i].uc_stack.ss_size = 65536;
    makecontext(&contexts[i], (void (*)(void))routine, 2, i, i == 1 ? 2 : 1);
  }
  int n = run(0, 1);
  n += run(0, -1);
  rdb_begin
    for (int i = 0; i < noted; i++) printf("returned %ld\n", quick[i]);
  rdb_end
  return n;
}
