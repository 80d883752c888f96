// Stores that the optimiser merges, a sum kept in a register, a call common to both branches.
#include <rdb/rdb.h>
#include <stdio.h>
struct state {
  int cnt;
  long total;
};
__attribute__((noinline)) void step(struct state *s, int k) {
  s->cnt = k;
  rdb_begin
    printf("cnt=%d\n", s->cnt);
  rdb_end
  s->cnt = k + 1;
}
__attribute__((noinline)) void add_up(struct state *s, const int *a, int n) {
  for (int i = 0; i < n; i++) {
    s->total += a[i];
    rdb_begin
      printf("total=%ld\n", s->total);
    rdb_end
  }
}
__attribute__((noinline)) static void show(int x) { printf("show %d\n", x); }
__attribute__((noinline)) int branch(int c, int x) {
  int y;
  if (c) {
    y = x + 1;
    show(x);
    rdb_begin
      printf("then: y=%d\n", y);
    rdb_end
  } else {
    y = x - 1;
    show(x);
    rdb_begin
      printf("else: y=%d\n", y);
    rdb_end
  }
  return y;
}
int main(int argc, char **argv) {
  (void)argv;
  struct state s = {0, 0};
  int a[] = {1, 2, 3, argc};
  step(&s, 4);
  add_up(&s, a, 4);
  printf("%d %ld %d %d\n", s.cnt, s.total, branch(argc, 7), branch(argc - 1, 9));
  return 0;
}
