#include <rdb/rdb.h>
#include <stdio.h>
int calls;
int error(int n) { return calls += n; }
int raise(int n) { return calls += 10 * n; }
int main(void) {
  int n = error(1) + raise(2);
  rdb_begin
    printf("%d %d\n", error(1), raise(1));
  rdb_end
  printf("%d %d\n", n, calls);
  return 0;
}
