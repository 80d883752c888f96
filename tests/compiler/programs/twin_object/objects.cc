#include <rdb/rdb.h>
#include <cstdio>
#include <stdexcept>
#include <string>
namespace {
int hidden = 1;
struct Local {
  virtual ~Local() {}
  virtual int f(int a) { return a + hidden; }
};
} // namespace
struct Text {
  std::string s;
  explicit Text(const char *t) : s(t) {}
};
Text make(const char *t) { return Text(t); }
template <class T> T twice(T v) {
  static int calls;
  ++calls;
  rdb_begin
  printf("twice %d\n", calls);
  rdb_end
  return v + v;
}
inline int inlined(int a) {
  static int sum;
  sum += a;
  rdb_begin
  printf("inlined %d\n", a);
  rdb_end
  return sum;
}
__attribute__((always_inline)) inline int always(int a) {
  rdb_begin
  printf("always %d\n", a);
  rdb_end
  return a + 1;
}
struct Counter {
  int base;
  int run(int count) const {
    auto add = [this](int x) {
      rdb_begin
      printf("add %d\n", base + x);
      rdb_end
      return base + x;
    };
    int sum = 0;
    for (int i = 0; i < count; ++i)
      sum += add(i);
    try {
      if (sum > 3) throw std::runtime_error("big");
    } catch (const std::exception &error) {
      rdb_begin
      printf("caught %s\n", error.what());
      rdb_end
      return -sum;
    }
    return sum;
  }
};
thread_local std::string name = "x";
int main() {
  static int ready = twice(4);
  Local local;
  Counter counter{3};
  printf("%d %d %f %d %d %d %s %s\n", ready, twice(2), twice(1.5), inlined(2), counter.run(2),
         always(2) + local.f(1), make("a").s.c_str(), name.c_str());
}
