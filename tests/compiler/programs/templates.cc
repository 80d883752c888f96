// Templates: a region per instantiation; lambdas; inline variables.
#include <rdb/rdb.h>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>
inline int instances = 0;
template <class T, int N>
struct Ring {
  T items[N] = {};
  int at = 0;
  void push(const T &item) {
    items[at++ % N] = item;
    instances++;
    rdb_begin
      std::printf("push: at=%d of %d\n", at, N);
    rdb_end
  }
};
template <class T>
T largest(const std::vector<T> &values) {
  T best = values.front();
  for (const T &value : values) {
    if (best < value) {
      best = value;
      rdb_begin
        std::printf("better, %zu bytes\n", sizeof best);
      rdb_end
    }
  }
  return best;
}
int main(int argc, char **) {
  Ring<int, 4> ring;
  Ring<std::string, 2> words;
  int offset = argc;
  auto add = [&, step = 2](int x) {
    int y = x * step + offset;
    rdb_begin
      std::printf("y=%d offset=%d\n", y, offset);
    rdb_end
    ring.push(y);
  };
  for (int i = 0; i < 3; i++) add(i);
  words.push("a");
  words.push("much longer than a small string");
  std::vector<int> numbers{3, 1, 4, 1, 5};
  std::sort(numbers.begin(), numbers.end(), [](int a, int b) {
    rdb_begin
      std::printf("compare %d %d\n", a, b);
    rdb_end
    return a < b;
  });
  std::printf("%d %g %d %s\n", largest(numbers), largest(std::vector<double>{1, 2.5}), ring.items[2],
              words.items[1].c_str());
  return instances == 5 ? 0 : 1;
}
