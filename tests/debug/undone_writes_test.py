# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug code that changes the program's objects, itself or by what it calls: the region sees the change, and it is undone
when the region ends. Every recording has hashes of memory and registers, which the replay checks."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

# One region each; `#` stands for what it prints in the first turn, of three.
CXX_CHANGES = """
v.push_back(77); std::printf("%zu %d", v.size(), v.back()); # 5 77
v.clear(); std::printf("%zu", v.size()); # 0
v.resize(100); v.shrink_to_fit(); std::printf("%zu", v.size()); # 100
v.erase(v.begin()); v.insert(v.begin(), 9); std::printf("%d", v[0]); # 9
std::swap(v, kept); kept.push_back(1); std::printf("%zu", kept.size()); kept = {}; # 5
std::sort(v.begin(), v.end()); std::printf("%d", v[0]); # 0
for (int &x : v) x += 10; std::printf("%d", v[0]); # 13
kept = std::move(v); std::printf("%zu", v.size()); kept = {}; # 0
s.append(50, 'x'); s.push_back('y'); std::printf("%zu", s.size()); # 91
t.append("long enough to leave its place"); std::printf("%s", t.c_str()); # shortdlong enough to leave its place
s.insert(0, "zz"); s.erase(2, 1); s.replace(0, 1, "a much longer beginning of it, of the program's heap"); std::printf("%c", s[0]); # a
std::string other = std::move(s); std::printf("%zu %zu", s.size(), other.size()); # 0 40
std::string other = std::move(t); std::printf("%zu %zu", t.size(), other.size()); # 0 6
s.swap(text); std::printf("%zu", text.size()); text = ""; # 40
m.insert({7, 8}); m.erase(1); std::printf("%zu %d", m.size(), m.begin()->first); # 3 0
for (auto &[k, x] : m) x++; std::printf("%d", m.at(1)); # 3
std::printf("%d", m[99]); # 0
m.clear(); std::printf("%zu", m.size()); # 0
u.rehash(100); u.emplace("b", 2); u.erase("a"); std::printf("%zu", u.size()); # 2
l.push_back(4); l.pop_front(); l.sort(); l.reverse(); std::printf("%zu %d", l.size(), l.front()); # 4 4
l.splice(l.begin(), std::list<int>{7, 8}); std::printf("%d", l.front()); # 7
d.push_back(4); d.push_front(5); std::printf("%d", d.front()); # 5
os << "and " << 5; std::printf("%s", os.str().c_str()); # x0and 5
os.str("other"); std::printf("%s", os.str().c_str()); # other
std::shared_ptr<int> copy = shared; keeper = shared; std::printf("%ld", shared.use_count()); keeper.reset(); # 3
shared.reset(); std::printf("%d", shared == nullptr); # 1
auto taken = std::move(unique); std::printf("%d", *taken); # 6
maybe.reset(); maybe.emplace(8); std::printf("%d", *maybe); # 8
p.set(99); std::printf("%d", p.get()); # 99
pp->set(98); pp->name.clear(); std::printf("%d %zu", p.get(), p.name.size()); # 98 0
std::printf("%d %d", p.bump(), pp->bump()); # 2 3
Part moved = std::move(p); std::printf("%s %zu", moved.name.c_str(), p.name.size()); # part 4
std::printf("%d %d", change(pp), seen); # 4 4
std::printf("%d %d", counter(), counter()); # 7 8
std::printf("%d %d", add_to_inline(), inline_variable); # 8 8
std::printf("%d", Part::count_up()); # 5
bump_template(n); bump_template(pp->value); std::printf("%d", p.value); # 2
out << "by the program's stream " << 5 << std::flush; # by the program's stream 5
"""

CXX_PROGRAM = r"""#include <rdb/rdb.h>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
int n;
STATIC int seen = 2;
struct Part {
  int value = 1;
  std::string name = "part";
  static int count;
  void set(int to) { value = to; }
  int get() { return value; }
  virtual int bump() { return ++value; }
  static int count_up() { return ++count; }
  virtual ~Part() = default;
};
int Part::count = 3;
inline int counter() { static int counts = 5; return ++counts; }
inline int inline_variable = 4;
inline int add_to_inline() { return inline_variable += 2; }
STATIC int change(Part *p) { p->value += 5; return ++seen; }
template <class T> void bump_template(T &t) { t = t + 1; }
struct State {
  std::vector<int> v{3, 1, 2};
  std::string s = "a string that is long enough for a heap", t = "short";
  std::map<int, int> m{{1, 2}, {3, 4}};
  std::unordered_map<std::string, int> u{{"a", 1}};
  std::list<int> l{1, 2, 3};
  std::deque<int> d{1, 2};
  std::ostringstream os;
  std::shared_ptr<int> shared = std::make_shared<int>(4);
  std::unique_ptr<int> unique{new int(5)};
  std::optional<int> maybe = 3;
  Part p, *pp = &p;
  std::ostream &out = std::cout;
};
rdb_begin_globals
#define OBJECTS auto &[v, s, t, m, u, l, d, os, shared, unique, maybe, p, pp, out] = *state;
static std::vector<int> kept;
static std::string text;
static std::shared_ptr<int> keeper;
rdb_end_globals
REGIONS
int main() {
  auto *state = new State;
  auto &[v, s, t, m, u, l, d, os, shared, unique, maybe, p, pp, out] = *state;
  os << "x";
  for (int i = 0; i < 3; i++) {
    n += i; v.push_back(i); s += 'c'; t += 'd'; m[i * 10] = i; u[std::to_string(i)] = i; l.push_back(i); d.push_back(i);
    os << i; ++*shared; ++*unique; maybe = i; change(pp); counter(); add_to_inline(); Part::count_up(); pp->bump(); bump_template(n);
    p.set(i + 1); out << std::flush;
    CALLS
  }
  std::printf("%d %zu %s %s %zu %zu %zu %zu %s %d %ld %d %d %s %d %d %d %d\n", n, v.size(), s.c_str(), t.c_str(), m.size(), u.size(), l.size(), d.size(),
              os.str().c_str(), *shared, shared.use_count(), *unique, p.value, p.name.c_str(), seen, inline_variable, Part::count, *maybe);
  delete state;
  return 0;
}
"""

C_PROGRAM = r"""#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct pair { int a, b; long more[20]; };
static struct pair one = {1, 2, {0}}, two = {3, 4, {5}};
static struct pair *volatile first = &one, *volatile second = &two;
static char text[80] = "text";
static int table[5] = {5, 4, 3, 2, 1};
static void bump(struct pair *p) { p->a++; }
static inline int added(struct pair *p) { return p->a += 2; }
int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
rdb_begin_globals
static void fill(struct pair *p, int n) { p->a = n; memset(p->more, n, sizeof p->more); }
rdb_end_globals
int main(void) {
  char *volatile heap = malloc(100);
  strcpy(heap, "heap");
  for (int i = 0; i < 3; i++) {
    bump(first); added(second); text[0]++; table[0]++;
    rdb_begin
      bump(first); added(first); *second = *first; second->b++; first->a *= 2;
      printf("%d %d %d\n", first->a, second->a, second->b);
      fill(first, 1);
      __atomic_fetch_add(&first->b, 5, __ATOMIC_SEQ_CST);
      printf("%d %d %lx\n", first->a, first->b, first->more[19]);
    rdb_end
    table[1]++;
    rdb_begin
      strcpy(text, "other"); strcat(text, " text"); strncat(heap, " and more", 4); sprintf(text + 20, "%d", 42); snprintf(text + 30, 9, "%s", "many words");
      memmove(heap + 20, text, 11);
      printf("%s %s %s %s %s\n", text, heap, text + 20, text + 30, heap + 20);
      strtok(heap, " ");
      void *(*volatile by_pointer)(void *, int, size_t) = memset;
      by_pointer(text, 'x', 3);
      qsort(table, 5, sizeof *table, order);
      printf("%.5s %d %d %s\n", text, table[0], table[4], heap);
    rdb_end
    table[2]++;
  }
  printf("%d %d %d %s %s %d\n", one.a, two.a, two.b, text, heap, table[0] + table[1] + table[2]);
  free(heap);
  return 0;
}
"""

# Memory with code that was translated.
CODE = r"""#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
unsigned char *page;
int (*volatile code)(void);
int main(void) {
  static const unsigned char five[] = {0xb8, 5, 0, 0, 0, 0xc3};
  page = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, five, sizeof five);
  code = (int (*)(void))page;
  int sum = code();
  for (int i = 0; i < 3; i++) {
    sum += code();
    rdb_begin
      page[1] = 6;
      printf("%d", code());
      sscanf("7", "%hhu", page + 1);
      printf(" %d", code());
      memset(page + 1, 0, 1);
      page[1] += 9;
      printf(" %d\n", code());
    rdb_end
    sum += code();
  }
  printf("%d\n", sum);
  return 0;
}
"""

# Debug code that changes memory of the program until it is given up: by then it must be undone.
GIVEN_UP = r"""#include <rdb/rdb.h>
#include <stdio.h>
int values[4000];
int main(void) {
  int *p = values;
  for (int i = 0; i < 3; i++) {
    p[i] = i;
    rdb_begin
      for (int k = 0; k < 4000; k++) p[k] = -1;
      printf("%d\n", values[3999]);
      *(volatile const char *)values;
      *(volatile char *)"constant" = 1;
    rdb_end
  }
  printf("%d %d\n", values[2], values[3999]);
  return 0;
}
"""


@harness.needs_compiler
class UndoneWrites(harness.TestCase):
    def replay(self, name, source, *flags, options=()):
        self.write(name, source)
        compiler = harness.program("rdb-clang++" if name.endswith(".cc") else "rdb-clang")
        self.run_program([compiler, "-g", "-w", *flags, "-o", "prog", name], status=0)
        self.run_program(["/bin/rm", "-rf", self.path("trace")])
        recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog", status=0)
        return recorded, self.rdb("replay", *options, self.path("trace"), status=0)

    def test_objects_of_cxx(self):
        changes = [line.rsplit(" # ", 1) for line in CXX_CHANGES.strip().splitlines()]
        barrier = '__asm__ volatile("" : : "r"(state), "r"(i) : "memory");'
        regions = "".join(f'__attribute__((noinline)) void region{k}(State *state, int i) {{\n  {barrier}\n  rdb_begin\n    OBJECTS std::printf("{k}.%d ", i); {{ {code} }} std::printf("\\n");\n  rdb_end\n  {barrier}\n}}\n'
                          for k, (code, _) in enumerate(changes))
        calls = " ".join(f"region{k}(state, i);" for k in range(len(changes)))
        # Of a static function, optimised code may have something else.
        for level, static in (("-O0", "static"), ("-O1", ""), ("-O2", "")):
            with self.subTest(level):
                recorded, replayed = self.replay("changes.cc", CXX_PROGRAM.replace("REGIONS", regions).replace("CALLS", calls), level, "-std=c++20", f"-DSTATIC={static}")
                lines = replayed.out.splitlines()
                self.assertEqual(lines[-1] + "\n", recorded.out, f"\n{replayed}")
                self.assertEqual(lines[:len(changes)], [f"{k}.0 {shown}" for k, (_, shown) in enumerate(changes)], replayed.err)
                self.assertEqual(len(lines), 3 * len(changes) + 1, f"\n{replayed}")
                self.assertNotIn("not run any more", replayed.err)

    def test_memory_of_c(self):
        for level in ("-O0", "-O1", "-O2"):
            for options in ((), ("--protect=undo",)):
                with self.subTest(level, options=options):
                    recorded, replayed = self.replay("memory.c", C_PROGRAM, level, options=options)
                    lines = replayed.out.splitlines()
                    self.assertEqual(lines[-1] + "\n", recorded.out, f"\n{replayed}")
                    if level == "-O0":
                        self.assertEqual(lines[:4], ["10 5 3", "1 7 101010101010101", "other text heap and 42 many wor other text", "xxxer 1 6 heap"], replayed.err)
                        self.assertEqual(len(lines), 13, f"\n{replayed}")

    def test_code(self):
        for options in ((), ("--protect",)):
            recorded, replayed = self.replay("code.c", CODE, "-O0", options=options)
            self.assertEqual(replayed.out, "6 7 9\n" * 3 + recorded.out, f"\n{replayed}")

    def test_when_debug_code_is_given_up(self):
        recorded, replayed = self.replay("given_up.c", GIVEN_UP, "-O0")
        self.assertEqual(replayed.out, "-1\n" + recorded.out, f"\n{replayed}")
        self.assertIn("given_up.c:8: debug code crashed with signal 11", replayed.err)


if __name__ == "__main__":
    harness.main()
