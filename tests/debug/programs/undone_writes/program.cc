#include <rdb/rdb.h>
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
    os << i; ++*shared; ++*unique; maybe = i; change(pp); counter(); add_to_inline(); Part::count_up(); pp->bump();
    bump_template(n);
    p.set(i + 1); out << std::flush;
    CALLS
  }
  std::printf("%d %zu %s %s %zu %zu %zu %zu %s %d %ld %d %d %s %d %d %d %d\n", n, v.size(), s.c_str(), t.c_str(),
      m.size(), u.size(), l.size(), d.size(),
              os.str().c_str(), *shared, shared.use_count(), *unique, p.value, p.name.c_str(), seen, inline_variable,
                  Part::count, *maybe);
  delete state;
  return 0;
}
