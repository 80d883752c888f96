#include <cstdio>
#include <vector>
#define DEFINE_IT(x) int x;
#define NOTHING
DEFINE_IT(first)
NOTHING
namespace outer {
  struct Kept { int __rdb_no; } kept;
}
extern "C" {
  int plain(int __rdb_arg) { return __rdb_arg; }
}
int main(int argc, char **) {
  return __LINE__ - 14 + plain(first) + outer::kept.__rdb_no;
}
