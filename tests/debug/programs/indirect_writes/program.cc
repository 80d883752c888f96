#include <rdb/rdb.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <memory_resource>
#include <regex>
#include <spanstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <strstream>
struct Thousands : std::numpunct<char> {
  std::string do_grouping() const override { return "\3"; }
};
struct All {
  int number = 1;
  char room[20000] = "abcd";
  std::string long_text = "a text that is long enough to have memory of its own";
  std::wstring wide_text = L"a wide text that has memory of its own";
  std::list<int> list{3, 1, 2};
  std::map<int, int> map{{1, 1}, {5, 5}, {11, 4}, {17, 6}, {23, 7}, {100, 8}};
  std::runtime_error *failure = new std::runtime_error("it failed");
  std::filesystem::directory_iterator folder{"/usr"};
  std::filesystem::path path = "/a/rather/long/path/of/names";
  std::locale locale{std::locale::classic(), new Thousands};
  std::ostringstream out;
  std::shared_ptr<int> shared = std::make_shared<int>(4);
};
__attribute__((noinline)) void bump(All *p) { p->number++; }
rdb_begin_globals
struct Area : std::streambuf {
  void put_to(char *at) { setp(at, at + 100); }
};
static std::ostringstream kept_stream;
static std::ostream silent(nullptr);
rdb_end_globals
FUNCTIONS
int main() {
  auto *p = new All;
  for (int i = 0; i < 2; i++) {
    p->number += i; p->room[19999]++;
    CALLS
  }
  std::cout << p->number << p->long_text << p->list.size() << p->map.size() << p->path << p->failure->what() << std::endl;
  delete p->failure;
  delete p;
  return 0;
}
