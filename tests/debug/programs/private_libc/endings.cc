#include <rdb/rdb.h>
#include <cstdio>
int n;
rdb_begin_globals
#include <cstdlib>
#include <iostream>
static void first() { std::cout << "first\n"; }
static void second() { std::cout << "second " << n << "\n"; }
rdb_end_globals
int main() {
  for (int i = 0; i < 2; i++) {
    n++;
    rdb_begin
      if (i == 0) { std::ios::sync_with_stdio(false); std::atexit(first); std::atexit(second); }
      std::cout << "cout " << i << '\n';
      std::printf("printf %d\n", i);
      std::clog << "clog " << i << '\n';
    rdb_end
    std::printf("program %d\n", i); std::fflush(stdout);
  }
  return 0;
}
