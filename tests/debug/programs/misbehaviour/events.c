#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int value;
rdb_begin_globals
static int calls, changes, kept;
enum { REGION, CALL, WRITE };
static void bad(int who, int i) { if (who == WHERE && i == 3) { WHAT; } }
static void on_call(const struct rdb_event *e) {
  printf("call %d: %d\n", ++calls, (int)e->arguments[0]);
  bad(CALL, calls);
  kept += 100;
}
static void on_change(const struct rdb_event *e) {
  printf("change %d: %d\n", ++changes, *(const int *)e->new_bytes);
  bad(WRITE, changes);
  kept += 10000;
}
rdb_end_globals
__attribute__((noinline)) void step(int i) { value += i; }
int main(void) {
  rdb_begin
    rdb_on_call("step", on_call, 0);
    rdb_on_write(&value, sizeof value, on_change, 0);
  rdb_end
  for (int i = 1; i < 6; i++) {
    rdb_begin
      printf("region %d\n", i);
      bad(REGION, i);
      kept++;
    rdb_end
    step(i);
    printf("program %d\n", i);
    fflush(stdout);
  }
  rdb_begin
    printf("kept %d\n", kept);
  rdb_end
  return value;
}
