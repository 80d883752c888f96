#include <rdb/rdb.h>
#include <stdio.h>
struct Sum { int count, sum; };
static void put(struct Sum *to, int n) { to->count++; to->sum += n; }
__attribute__((noinline)) int add(struct Sum *to, int n) {
  put(to, n);
  rdb_begin
    printf("%d of %d\n", to->count, to->sum);
  rdb_end
  return to->sum;
}
int main(void) {
  struct Sum sum = {0, 0};
  return add(&sum, 7) + add(&sum, 7) == 21 ? 0 : 1;
}
