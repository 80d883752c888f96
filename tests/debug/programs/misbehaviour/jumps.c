#include <rdb/rdb.h>
#include <setjmp.h>
#include <stdio.h>
rdb_begin_globals
static jmp_buf place;
static void far(int n) { volatile char room[200]; room[n] = 1; if (n > 0) far(n - room[n]); else longjmp(place, 1); }
rdb_end_globals
int main(void) {
  int n = 0;
  for (int i = 0; i < 3; i++) {
    n += i;
    rdb_begin
      if (SET(place) == 0) { printf("set %d\n", i); far(i); }
      else printf("back %d\n", i);
    rdb_end
    n++;
    rdb_begin
      printf("jump %d\n", i);
      far(i);
    rdb_end
    n++;
  }
  printf("n %d\n", n);
  return n;
}
