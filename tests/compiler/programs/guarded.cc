// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes that others overwrite, in a loop that is unrolled: each turn leaves its own out.
#include <rdb/rdb.h>
#include <cstdio>
using u = unsigned;
u g0 = 3;
struct Point { u x, y; };
struct Guard {
  u &target; u by;
  Guard(u &t, u b) : target(t), by(b) { target += by; }
  ~Guard() { target ^= by; }
};
static inline __attribute__((always_inline)) u guarded(Point *p0) {
  auto twice = [p0](u p) {
    Guard guard(g0, p0->y);
    rdb_begin
      printf("guarded %u\n", (u)(g0));
    rdb_end
    return ((p0->y - p) | p0->y);
  };
  return twice(((p0->y * p0->y) % (p0->y | 1))) + twice(1u);
}
int main(int argc, char **) {
  Point m{(u)argc, 2}; u x = 0;
  for (u i = 0; i < 2; i++) {
    x += guarded(&m);
    printf("%u %u\n", x, m.y);
  }
}
