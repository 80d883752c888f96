#include <rdb/rdb.h>
#include <cstdio>
#include <vector>
#define DEFINE_IT(x) int x;
#define NOTHING
DEFINE_IT(first)
NOTHING
int __rdb_hits = 1'000;   // comment
namespace outer {
  [[clang::annotate("rdb")]] static int noted(int n)
  {
    return n + "}"[0];
  }
  namespace __rdb_tools { std::vector<int> seen; inline int size() { return (int)seen.size(); } }
  struct Kept { int __rdb_no; } kept;
  template <class T> T __rdb_max(T a, T b) { return a < b ? b : a; }
}
extern "C" {
  struct __rdb_pair { int a, b; };
  int __rdb_table[] = { 1, 2, 3 };
  int plain(int __rdb_arg) { return __rdb_arg; }
}
static int (*__rdb_pointer)(int);
#ifdef DEBUG
int __rdb_guarded;
#endif
/* a */ typedef struct { int z; } __rdb_typed;
int main(int argc, char **) {
  rdb_begin
    outer::__rdb_tools::seen.push_back(argc);
    __rdb_pair p{1, 2};
    __rdb_guarded = 3;
    __rdb_typed t{4};
    std::printf("%d %d %d %d %d %d %d %d\n", __rdb_hits, outer::noted(1), outer::__rdb_tools::size(),
                outer::__rdb_max(1, 7), p.b, __rdb_table[2], __rdb_pointer == 0, __rdb_guarded + t.z);
  rdb_end
  return __LINE__ - 14 + plain(first) + outer::kept.__rdb_no;
}
