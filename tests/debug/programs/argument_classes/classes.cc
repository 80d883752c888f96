#include <rdb/rdb.h>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>
static int operations;
enum class Level : unsigned char { low = 1, high = 200 };
struct Point { int x, y; int sum() const { return x + y; } };
struct Shape {
  virtual ~Shape() = default;
  virtual int area() const = 0;
  virtual const char *name() const { return "shape"; }
};
struct Square : Shape {
  int side;
  explicit Square(int s) : side(s) {}
  int area() const override { return side * side; }
};
struct Cube final : Square, Point {
  Cube(int s) : Square(s), Point{s, -s} {}
  int area() const override { return 6 * side * side; }
  const char *name() const override { return "cube"; }
  int grow(int by) {
    side += by;
    rdb_begin
      std::printf("grow %d to %d, area %d, x %d\n", by, side, area(), x);
    rdb_end
    operations++;
    return side;
  }
};
// Passed by value through memory: copying it is no copy of bytes.
struct Owner {
  std::unique_ptr<int> value;
  Owner *self;
  explicit Owner(int n) : value(new int(n)), self(this) {}
  Owner(const Owner &other) : value(new int(*other.value)), self(this) {}
};
template <class T, int N> struct Ring {
  std::array<T, N> items{};
  int next = 0;
  void put(const T &item) {
    items[next++ % N] = item;
    rdb_begin
      std::printf("ring of %d: next %d, last %d\n", N, next, static_cast<int>(items[(next - 1) % N]));
    rdb_end
    operations++;
  }
};
[[gnu::noinline]] static int references(int &a, const std::string &text, Point &&moved, Shape &shape, Level level) {
  int &alias = a;
  alias += 2;
  operations++;
  rdb_begin
    std::printf("references %d %d %s %zu %d %d %s %d\n", a, alias, text.c_str(), text.size(), moved.sum(), shape.area(),
        shape.name(),
                static_cast<int>(level));
  rdb_end
  operations++;
  return alias + moved.x + shape.area() + static_cast<int>(text.size());
}
[[gnu::noinline]] static int values(Owner owner, std::string text, std::vector<int> numbers, std::optional<double> maybe,
    std::nullptr_t,
                                    std::pair<long, char> both) {
  numbers.push_back(*owner.value);
  operations++;
  rdb_begin
    std::printf("values %d %d %s %zu %d %g %ld%c\n", *owner.value, owner.self == &owner, text.c_str(), numbers.size(),
        numbers.back(),
                maybe.value_or(-1), both.first, both.second);
  rdb_end
  operations++;
  return static_cast<int>(numbers.size() + text.size()) + *owner.value;
}
[[gnu::noinline]] static int closures(int n) {
  std::string word = "word";
  int count = 0;
  auto add = [&count, n, word](int by) {
    count += by + n;
    rdb_begin
      std::printf("closure %d %d %d %s\n", count, by, n, word.c_str());
    rdb_end
    operations++;
    return count;
  };
  std::function<int(int)> any = add;
  int total = add(1) + any(2);
  int Point::*member = n > 1 ? &Point::y : &Point::x;
  int (Point::*method)() const = &Point::sum;
  Point p{n, 10 * n};
  rdb_begin
    std::printf("members %d %d\n", p.*member, (p.*method)());
  rdb_end
  operations++;
  return total + p.*member + (p.*method)();
}
[[gnu::noinline]] static int statements(const std::map<std::string, int> &prices) {
  int sum = 0;
  for (const auto &[name, price] : prices) {
    sum += price;
    rdb_begin
      std::printf("for %s %d %d\n", name.c_str(), price, sum);
    rdb_end
    operations++;
  }
  auto [first, second] = std::make_tuple(sum, 2.5);
  try {
    if (sum > 0) throw std::runtime_error("thrown");
  } catch (const std::runtime_error &caught) {
    rdb_begin
      std::printf("caught %s %d %g\n", caught.what(), first, second);
    rdb_end
    operations++;
  }
  return sum + static_cast<int>(second);
}
namespace deep { inline namespace v1 { namespace { int hidden = 3; } template <class T> T shared = T(7); } }
int main(int argc, char **) {
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  int a = argc;
  Cube cube(argc + 1);
  std::printf("%d\n", references(a, "a string that does not fit into the object itself", Point{argc, 4}, cube, Level::high));
  std::printf("%d\n", values(Owner(5), "short", {1, 2, 3}, 1.5, nullptr, {1l << 40, 'z'}));
  std::printf("%d\n", closures(argc + 1));
  std::printf("%d\n", statements({{"bread", 3}, {"milk", 1}}));
  std::printf("%d\n", cube.grow(2));
  Ring<char, 3> letters;
  Ring<long, 2> numbers;
  letters.put('a');
  numbers.put(argc + 100);
  numbers.put(argc + 101);
  deep::hidden += argc;
  rdb_begin
    std::printf("names %d %d\n", deep::hidden, deep::shared<int>);
  rdb_end
  std::printf("%d\n", deep::hidden + deep::shared<int>);
  return operations;
}
