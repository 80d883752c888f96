#include <rdb/rdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static int state = 1;
__thread int depth;
__attribute__((constructor)) static void early(void) {
  state += 1;
  rdb_begin
    printf("constructor %d\n", state);
  rdb_end
  state += 1;
}
static void late(void) {
  state += 1;
  rdb_begin
    printf("exit handler %d\n", state);
  rdb_end
  state += 1;
}
static void handler(int number) {
  state += number;
  rdb_begin
    printf("signal %d %d\n", number, state);
  rdb_end
  state += 1;
}
static int fall(int n) {
  depth++;
  if (n == 0) {
    rdb_begin
      printf("depth %d\n", depth);
    rdb_end
    return depth;
  }
  return fall(n - 1) + 1;
}
int main(void) {
  setvbuf(stdout, 0, _IOLBF, 0);
  atexit(late);
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  int n = fall(5);
  printf("%d %d\n", state, n);
  return 4;
}
