#include <rdb/rdb.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int calls;
int table[4];
int forever(int n) { while (n) calls += n; return calls; }
int crashes(int *p) { calls++; return *p; }
int fills(int n) { calls = 77; memset(table, n, sizeof table); for (int i = 0; i < 4; i++) table[i] += i; return table[3]; }
int enters_kernel(void) { return dup(0); }
long double precise(long double x) { return x / 3; }
rdb_begin_globals
static int deep(volatile int n) { volatile char room[512]; room[n % 512] = 1; return deep(n + 1) + room[3]; }
rdb_end_globals
int main(void) {
  int n = 0;
  for (int i = 0; i < 3; i++) {
    n += i;
    rdb_begin
      printf("before\n");
      WHAT;
      printf("not reached\n");
    rdb_end
    n++;
  }
  if (argc_is(n)) fills(forever(0) + crashes(&n) + enters_kernel());
  printf("n %d calls %d table %d %g\n", n, calls, table[3], (double)precise(n));
  return n;
}
