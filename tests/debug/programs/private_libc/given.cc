#include <rdb/rdb.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>
struct Node { int value; std::string name; };
std::vector<int> numbers(int n) { std::vector<int> v; for (int i = 0; i < n; i++) v.push_back(i * i); return v; }
std::string text(int n) { return std::string(n, 'x') + "!"; }
std::map<std::string, Node> table(int n) {
  std::map<std::string, Node> m;
  for (int i = 0; i < n; i++) m[text(i + 20)] = {i, text(30)};
  return m;
}
std::unique_ptr<Node[]> several(int n) { return std::unique_ptr<Node[]>(new Node[n]{{n, text(40)}}); }
std::shared_ptr<Node> shared(int n) { return std::make_shared<Node>(Node{n, text(50)}); }
char *copy(const char *what) { return strdup(what); }
rdb_begin_globals
static std::vector<std::string> kept;
static std::ostringstream stream;
static int turn;
rdb_end_globals
[[gnu::noinline]] int step(int i) {
  rdb_begin
    int k = turn++;
    auto v = numbers(5 + k);
    v.push_back(k);
    auto m = table(4);
    m.erase(m.begin());
    m["mine"] = {7, "a name of the debug code's own"};
    auto n = several(3);
    auto s = shared(9);
    char *c = copy("a text that is long enough");
    std::string t = text(60), u = t + c;
    t = "now it has private memory instead of the program's";
    free(c);
    kept.push_back(u);
    stream << text(3) << v.size();
    std::printf("%zu %zu %d %zu %zu %d %zu\n", v.size(), m.size(), n[0].value, n[0].name.size(), s->name.size(), v.back(),
        kept.size());
  rdb_end
  return i + static_cast<int>(text(20).size());
}
int main() {
  int sum = 0;
  for (int i = 0; i < 50; i++) sum += step(i) + numbers(4)[3] + table(3).begin()->second.value + several(2)[0].value +
      shared(3)->value;
  std::printf("sum %d\n", sum);
  rdb_begin
    std::printf("%zu %zu %s\n", kept.size(), kept[49].size(), stream.str().substr(0, 10).c_str());
    char *c = copy("x");
    c = static_cast<char *>(realloc(c, 100));
    std::printf("%s\n", c);
  rdb_end
  return 0;
}
