# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions see values of every class: whatever a parameter, a local or a global variable can be in C and C++. The oracle
is the same source with its regions compiled in. Without optimisation the output is the same, line by line; with it lines
may be missing (a value is gone), but none may be wrong, extra or elsewhere. Every recording has hashes of memory and
registers, which the replay checks."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

C_CLASSES = r"""#include <complex.h>
#include <immintrin.h>
#include <rdb/rdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#define KEEP(x) __asm__ volatile("" : : "r"(&(x)) : "memory")
enum colour { RED, GREEN = 7, BLUE };
struct pair { int a, b; };
struct floats { float x, y; };
struct mixed { double d; long n; };
struct big { long v[5]; char name[8]; };
struct bits { unsigned a : 3; int b : 5; unsigned long c : 40; };
struct tail { int n; short items[]; };
union word { float f; unsigned u; unsigned char bytes[4]; };
typedef float vec4 __attribute__((vector_size(16)));
typedef int vec8 __attribute__((vector_size(32)));
static int operations;
__thread int per_thread = 5;
static int twice(int x) { return 2 * x; }

__attribute__((noinline)) static int integers(bool yes, signed char c, unsigned short s, int i, unsigned long l, __int128 wide, enum colour e) {
  operations++;
  rdb_begin
    printf("integers %d %d %u %d %lu %ld %ld %d\n", yes, c, s, i, l, (long)(wide >> 64), (long)wide, e);
  rdb_end
  operations++;
  return yes + c + s + i + (int)l + (int)wide + e;
}
__attribute__((noinline)) static double floating(float f, double d, long double x, double _Complex z, float _Complex w) {
  operations++;
  rdb_begin
    printf("floating %g %g %.20Lg %g%+gi %g%+gi\n", f, d, x, creal(z), cimag(z), crealf(w), cimagf(w));
  rdb_end
  operations++;
  return f + d + (double)x + creal(z) + cimagf(w);
}
__attribute__((noinline)) static long structs(struct pair p, struct floats f, struct mixed m, struct big b, struct bits t, union word w) {
  operations++;
  rdb_begin
    printf("structs %d %d  %g %g  %g %ld  %ld %ld %s  %u %d %lu  %u %u\n", p.a, p.b, f.x, f.y, m.d, m.n, b.v[0], b.v[4], b.name,
           t.a, t.b, (unsigned long)t.c, w.u, w.bytes[3]);
  rdb_end
  p.a++;
  t.b = -3;
  w.bytes[0] ^= 1;
  b.v[4] += p.a;
  rdb_begin
    printf("changed %d %ld %d %u\n", p.a, b.v[4], t.b, w.u);
  rdb_end
  operations++;
  return p.a + p.b + (long)f.y + m.n + b.v[4] + t.b + (long)w.u;
}
__attribute__((noinline)) static float vectors(vec4 v, vec8 *many, __m128i m) {
  vec8 sum = many[0] + many[1];
  operations++;
  rdb_begin
    long halves[2];
    memcpy(halves, &m, sizeof m);
    printf("vectors %g %g  %d %d  %ld %ld\n", v[0], v[3], sum[0], sum[7], halves[0], halves[1]);
  rdb_end
  operations += sum[3];
  return v[1] + (float)sum[2] + (float)_mm_cvtsi128_si64(m);
}
__attribute__((noinline)) static int arrays(int n, int flat[], int grid[][4], const struct tail *tail, int (*f)(int), struct pair (*table)[2]) {
  int local[4] = {n, n + 1, n + 2, n + 3};
  short vla[n][2];
  for (int i = 0; i < n; i++) vla[i][0] = (short)i, vla[i][1] = (short)(i * i);
  KEEP(local);
  rdb_begin
    printf("arrays %d %d  %d  %d %d  %d %d\n", flat[0], grid[n - 1][n], tail->items[tail->n - 1], f(n), (*table)[1].b,
           local[3], (int)(sizeof local / sizeof *local));
    for (int i = 0; i < n; i++) printf(" %d/%d", vla[i][0], vla[i][1]);
    printf("\n");
  rdb_end
  return local[1] + vla[n - 1][1] + flat[0] + grid[0][0] + f(1);
}
__attribute__((noinline)) static int others(const char *text, void *anything, volatile int *port, const int constant, _Atomic long *counter) {
  static int visits = 40;
  register int kept = constant * 3;
  const char *copy = text + 1;
  visits++;
  *counter += 2;
  rdb_begin
    printf("others %s %s %d %d %d %ld %d %d %s\n", text, copy, anything == 0, *port, kept, (long)*counter, visits, per_thread, __func__);
  rdb_end
  return kept + visits + copy[0];
}
__attribute__((noinline)) static int blocks(int n) {
  int x = n;
  for (int i = 0; i < 2; i++) {
    int x = i * 10;
    {
      struct pair x = {i, n};
      KEEP(x);
      rdb_begin
        printf("inner %d %d of %d\n", x.a, x.b, i);
      rdb_end
      n += x.a;
    }
    KEEP(x);
    rdb_begin
      printf("middle %d\n", x);
    rdb_end
    n += x;
  }
  KEEP(x);
  rdb_begin
    printf("outer %d %d\n", x, n);
  rdb_end
  return n + x;
}
int main(int argc, char **argv) {
  setvbuf(stdout, 0, _IONBF, 0);
  (void)argv;
  int flat[3] = {9, 8, 7}, grid[3][4] = {{1}, {2}, {3, 4, 5, 6}};
  union { struct tail tail; short room[8]; } tail = {{2}};
  tail.tail.items[1] = -12;
  struct pair table[2] = {{1, 2}, {3, 4}};
  vec8 many[2] = {{1, 2, 3, 4, 5, 6, 7, 8}, {argc, argc, argc, argc, argc, argc, argc, argc}};
  volatile int port = 77;
  _Atomic long counter = 1;
  union word w = {.f = 1.5f};
  printf("%d\n", integers(argc == 1, -3, 65000, -argc, 1ul << 40, ((__int128)argc << 64) - 1, BLUE));
  printf("%g\n", floating(0.5f, -1.25, 1.0L / 3 + argc, 2.0 + 3.0 * I, (float)argc - 4.0f * I));
  printf("%ld\n", structs((struct pair){argc, -2}, (struct floats){1.5f, 2.5f}, (struct mixed){0.125, 1l << 50},
                          (struct big){{1, 2, 3, 4, argc}, "big"}, (struct bits){5, -7, 1ul << 39}, w));
  printf("%g\n", vectors((vec4){1, 2, 3, (float)argc}, many, _mm_set_epi64x(argc, -5)));
  printf("%d\n", arrays(3, flat, grid, &tail.tail, twice, &table));
  printf("%d\n", others("text", 0, &port, argc + 4, &counter));
  printf("%d\n", blocks(argc + 1));
  return operations;
}
"""

CXX_CLASSES = r"""#include <rdb/rdb.h>
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
    std::printf("references %d %d %s %zu %d %d %s %d\n", a, alias, text.c_str(), text.size(), moved.sum(), shape.area(), shape.name(),
                static_cast<int>(level));
  rdb_end
  operations++;
  return alias + moved.x + shape.area() + static_cast<int>(text.size());
}
[[gnu::noinline]] static int values(Owner owner, std::string text, std::vector<int> numbers, std::optional<double> maybe, std::nullptr_t,
                                    std::pair<long, char> both) {
  numbers.push_back(*owner.value);
  operations++;
  rdb_begin
    std::printf("values %d %d %s %zu %d %g %ld%c\n", *owner.value, owner.self == &owner, text.c_str(), numbers.size(), numbers.back(),
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
"""

LEVELS = ("-O0", "-O2")


class ArgumentClasses(harness.TestCase):
    default_timeout = 120

    def outputs(self, name, text, level):
        """What the program prints with its regions compiled in, and what its replay with regions prints."""
        plus = "++" if name.endswith(".cc") else ""
        flags = [level, "-w", "-g", "-mavx2", *(["-std=c++20"] if plus else [])]
        self.write(name, text)
        self.run_program(["/bin/rm", "-rf", "prog", "prog.rdb", self.path("trace")])
        self.run_program([f"/usr/bin/clang{plus}-22", *flags, "-DRDB_INLINE", "-I" + os.path.join(harness.SOURCE, "runtime-libs", "include"),
                          name, "-o", "inline", "-lm"], status=0)
        inline = self.run_program([self.path("inline")])
        self.run_program([harness.program("rdb-clang" + plus), *flags, name, "-o", "prog", "-lm"], status=0)
        recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog", status=inline.status)
        replayed = self.rdb("replay", "--stats", self.path("trace"), status=inline.status)
        self.assertTrue(set(recorded.out.splitlines()) < set(inline.out.splitlines()))
        return inline.out.splitlines(), recorded.out.splitlines(), replayed

    def check(self, name, text, least, shown=()):
        """`shown`: lines that must be there with optimisation, too."""
        for level in LEVELS:
            with self.subTest(level):
                expected, program, replayed = self.outputs(name, text, level)
                got = replayed.out.splitlines()
                if level == "-O0":
                    self.assertEqual(got, expected, replayed.err)
                rest = iter(expected)
                wrong = [line for line in got if not any(line == other for other in rest)]
                self.assertEqual(wrong, [], f"\n{replayed}\nexpected among\n" + "\n".join(expected))
                self.assertEqual([line for line in got if line in program], program)
                self.assertGreaterEqual(len(got) - len(program), least[level], f"lines of regions\n{replayed}")
                for line in shown:
                    self.assertIn(line, got)
                self.check_reasons(name, replayed.err)

    def check_reasons(self, name, messages):
        """A region that did not run has a reason, which the user is told."""
        inspected = self.rdb("inspect", self.path("prog"), status=0).out
        rows = re.findall(rf"^{name}:(\d+) +(\d+) +(\d+) ", messages, re.M)
        self.assertGreaterEqual(len(rows), 10, messages)
        for line, hits, skipped in rows:
            lost = re.search(rf"^{name}:{line}-\d+ in .*: lost, \w+", inspected, re.M)
            if int(skipped) != 0:
                self.assertRegex(messages, rf"{name}:{line}: not run at time \d+: .* is unavailable there \(.+\)")
            elif int(hits) == 0:
                self.assertTrue(lost, f"{name}:{line} never ran\n{inspected}\n{messages}")

    def test_c(self):
        self.check("classes.c", C_CLASSES, {"-O0": 13, "-O2": 5})

    def test_cxx(self):
        self.check("classes.cc", CXX_CLASSES, {"-O0": 13, "-O2": 5},
                   ("grow 2 to 4, area 96, x 2", "closure 3 1 2 word", "closure 7 2 2 word", "for bread 3 3", "for milk 1 4"))


if __name__ == "__main__":
    harness.main()
