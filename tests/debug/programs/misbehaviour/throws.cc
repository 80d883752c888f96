#include <rdb/rdb.h>
#include <cstdio>
#include <stdexcept>
int main(int argc, char **) {
  int n = argc + 2;
  rdb_begin
    try { if (n > 0) throw 42; } catch (int k) { std::printf("caught %d\n", k); }
  rdb_end
  n++;
  rdb_begin
    if (n > 0) throw std::runtime_error("out of here");
  rdb_end
  std::printf("end %d\n", n);
}
