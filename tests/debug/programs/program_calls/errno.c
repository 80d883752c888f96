#include <rdb/rdb.h>
#include <errno.h>
#include <stdio.h>
__attribute__((noinline)) int fails(int n) { errno = n; return -1; }
__attribute__((noinline)) int error_now(void) { return errno; }
__attribute__((noinline)) int through(int (*f)(void)) { int before = f(); return 1000 * before + errno; }
rdb_begin_globals
static int called(void) { int before = errno; errno = 7; return before; }
rdb_end_globals
int main(void) {
  errno = 5;
  int n = error_now();
  rdb_begin
    printf("%d", errno);
    fails(11);
    printf(" %d", errno);
    errno = 0;
    printf(" %d", error_now());
    fails(5);
    printf(" %d", errno);
    errno = 12;
    printf(" %d", through(called));
    printf(" %d\n", errno);
  rdb_end
  n += error_now();
  printf("%d %d %d\n", n, errno, fails(2) + through(error_now));
  return 0;
}
