#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int value;
#include <setjmp.h>
rdb_begin_globals
static int seen;
static char *text;
rdb_end_globals
jmp_buf place;
int main(void) {
  setjmp(place);
  for (int i = 0; i < 6; i++) {
    value += i;
    rdb_begin
      seen += value;
      printf("first %d seen %d\n", i, seen);
    rdb_end
    value++;
    rdb_begin
      printf("second %d seen %d\n", i, seen);
      seen += 1000;
      if (i == 3) { WHAT; }
    rdb_end
    printf("program %d\n", i);
    fflush(stdout);
  }
  rdb_begin
    text = malloc(100);
    printf("last %d\n", seen);
    free(text);
  rdb_end
  return value;
}
