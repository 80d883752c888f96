// Memory that optimised code leaves behind the source: deleted and moved stores, promoted sums, sunk calls.
#include <stdio.h>
#include <rdb/rdb.h>

struct S { int cnt; int sum; };

__attribute__((noinline)) void twice(struct S *s, int k) {
  s->cnt = k;
  rdb_begin
  printf("twice cnt=%d\n", s->cnt);
  rdb_end
  s->cnt = k + 1;
}

__attribute__((noinline)) void promoted(struct S *s, int *a, int n) {
  for (int i = 0; i < n; i++) {
    s->sum += a[i];
    rdb_begin
    printf("promoted i=%d sum=%d\n", i, s->sum);
    rdb_end
  }
}

int global;
__attribute__((noinline)) void note(int x) { global += x; }

__attribute__((noinline)) int sunk(int c, struct S *s) {
  int r;
  if (c) {
    note(5);
    rdb_begin
    printf("sunk then global=%d\n", global);
    rdb_end
    r = s->cnt;
  } else {
    note(5);
    r = s->sum;
  }
  return r;
}

__attribute__((noinline)) int hoisted(int *p, int *q, int n) {
  int old = *p;
  rdb_begin
  printf("hoisted p=%d q=%d\n", *p, *q);
  rdb_end
  *p = n;
  *q = old;
  return old;
}

static inline void set(struct S *s, int v) { s->cnt = v; }

__attribute__((noinline)) void inlined(struct S *s, int v) {
  set(s, v);
  rdb_begin
  printf("inlined cnt=%d\n", s->cnt);
  rdb_end
  set(s, v + 1);
}

__attribute__((noinline)) int join(int a, int b) {
  int r = b;
  if (a) {
    r = b + 1;
    rdb_begin
    printf("join a=%d r=%d\n", a, r);
    rdb_end
  }
  return r * 2;
}

int main(void) {
  struct S s = {0, 0};
  int a[4] = {1, 2, 3, 4};
  int p = 1, q = 2;
  twice(&s, 10);
  promoted(&s, a, 4);
  sunk(1, &s);
  sunk(0, &s);
  hoisted(&p, &q, 9);
  inlined(&s, 3);
  printf("%d %d\n", join(0, 5), join(1, 5));
  printf("%d %d %d %d %d\n", s.cnt, s.sum, global, p, q);
  return 0;
}
