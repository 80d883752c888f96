// Regions in lambdas that capture by default, and use first what the program uses further down: the members of
// the closures must be found where the program's code has them.
#include <rdb/rdb.h>

#include <cstdio>
#include <functional>
#include <string>
#include <utility>

static int sum;

__attribute__((noinline)) static void use(const std::function<int(int)>& function, int k) {
  sum += function(k);
}

template <int N, class T>
static int in_template(T a, int b, int c) {
  auto l = [&](int k) {
    a += k;
    rdb_begin
    std::printf("template %d %d %d\n", N, static_cast<int>(a), c);
    rdb_end
    return b + c * N;
  };
  use(l, 1);
  return l(2);
}

struct Object {
  int member = 5;
  std::string text = "text";

  __attribute__((noinline)) void run(int p, int q) {
    auto copies = [=, z = p * 2](int k) {
      rdb_begin
      std::printf("copies %d %d %d %d %s\n", q, p, z, member, text.c_str());
      rdb_end
      return k + p + z + q + member;
    };
    use(copies, 3);
    auto outer = [&](int k) {
      int local = k;
      auto inner = [&](auto j) {
        rdb_begin
        std::printf("inner %d %d %d %d\n", q, local, static_cast<int>(j), member);
        rdb_end
        return p + q + local + static_cast<int>(j) + member;
      };
      return inner(k) + inner(static_cast<long>(k) * 2) + p;
    };
    use(outer, 4);
    auto changes = [=, &p](int k) mutable {
      int first = k;
      rdb_begin
      std::printf("changes %d %d\n", q, p);
      rdb_end
      p += first;
      q += p;
      return q;
    };
    use(changes, 5);
    use(changes, 6);
  }
};

static int in_one_line(int a, int b) {
  auto l = [&](int k) { int c = a + k; int d = c;
    rdb_begin
    std::printf("line %d %d %d\n", b, c, d);
    rdb_end
    return c + d + b; };
  use(l, 7);
  return a + b;
}

int main(int argc, char**) {
  int x = argc, y = argc * 10, w = argc * 100;
  const int odd = 7;
  auto [left, right] = std::pair(argc + 1, argc + 2);
  std::string name = "n";
  auto l = [&](int k) {
    int r = w + k;
    rdb_begin
    std::printf("main %d %d %d %d %s\n", x, y, w, odd, name.c_str());
    rdb_end
    const int& bound = odd;
    y += r;
    rdb_begin
    std::printf("again %d %d\n", x, y);
    auto own = [&] { return x + y; };
    std::printf("own %d\n", own());
    rdb_end
    x += y + bound;
    name += "x";
    return x;
  };
  use(l, 1);
  use(l, 2);
  sum += in_template<1>(argc, 2, 3) + in_template<2>(static_cast<long>(argc), 4, 6);
  Object().run(argc + 6, argc + 7);
  sum += in_one_line(argc, 8) + left + right;
  std::printf("%d %d %d %d\n", x, y, w, sum);
}
