#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int table[3]; long times[2];
int bump(int n) { table[2] += n; return table[2]; }
int main(void) {
  int *heap = malloc(4);
  *heap = 1;
  for (int i = 0; i < 2; i++) {
    rdb_begin
      int *p = table;
      printf("bump %d\n", bump(5));
      p[1] = 77;
      *heap += 1;
#ifdef UNSEEN
      clock_gettime(CLOCK_REALTIME, (struct timespec *)times);
#endif
      printf("table %d %d heap %d\n", table[1], table[2], *heap);
    rdb_end
    table[0]++;
  }
  printf("%d %d %d %d\n", table[0], table[1], table[2], *heap);
  return table[0];
}
