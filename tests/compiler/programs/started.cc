// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is done ahead of main and behind it, and need not be done at all if nobody looks: a constructor that only computes what is known,
// and a destructor that does nothing.
#include <cstdio>
#include <rdb/rdb.h>

struct Pair {
  int first, second;
  explicit Pair(int n) {
    first = n;
    rdb_begin
      printf("making a pair of %d\n", n);
    rdb_end
    second = n + 1;
  }
};
Pair known(3);

struct Plain {
  int n;
  explicit Plain(int given) : n(given) {}
  ~Plain() {
    rdb_begin
      printf("unmaking a plain one\n");
    rdb_end
  }
};
Plain plain(4);

__attribute__((noinline)) void say(int n) noexcept {
  printf("%d\n", n);
}

int main(int argc, char**) {
  Pair& other = *new Pair(argc);
  {
    Plain here(argc);
    say(here.n + plain.n);
  }
  say(known.second + other.second);
  return 0;
}
