#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
rdb_begin_globals
static int good;
static void on_call(const struct rdb_event *e) {
  printf("callback %lu\n", e->arguments[0]);
  if (e->arguments[0] == 5) abort();
}
rdb_end_globals
int called(int i) { return i; }
int main(void) {
  int sum = 0;
  rdb_begin
    rdb_on_call("called", on_call, 0);
  rdb_end
  for (int i = 0; i < 10; i++) {
    rdb_begin
      printf("first %d\n", i);
      if (i == 2) *(volatile int *)8 = 1;
    rdb_end
    sum += 1;
    rdb_begin
      printf("second %d\n", i);
      if (i == 3) exit(1);
    rdb_end
    sum -= 1;
    rdb_begin
      printf("third %d\n", i);
      while (i == 4) { }
    rdb_end
    sum += called(i);
    rdb_begin
      printf("good %d\n", i);
      good++;
    rdb_end
    printf("program %d\n", i);
    fflush(stdout);
  }
  rdb_begin
    printf("good in all: %d\n", good);
  rdb_end
  return sum;
}
