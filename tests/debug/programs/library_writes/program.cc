#include <rdb/rdb.h>
#include <algorithm>
#include <charconv>
#include <cxxabi.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <locale>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <vector>
struct All {
  int number = 1, table[4] = {3, 1, 4, 2};
  long big = 2;
  double real = 3;
  char letter = 'l', room[20000] = "abcd";
  bool yes = false;
  std::size_t size = 4;
  std::string text = "begin";
  std::mutex lock;
  std::mt19937 random{5};
  std::exception_ptr thrown = std::make_exception_ptr(5);
  std::tm tm{};
  std::filesystem::path path;
  std::error_code error;
  std::vector<bool> flags = std::vector<bool>(70);
};
__attribute__((noinline)) int tag(int &n) { return ++n; }
static std::string make() { return "made at last"; }
inline std::string &once() { static std::string text = make(); return text; }
std::ostream &out = std::cout;
rdb_begin_globals
static std::locale kept_locale;
static std::exception_ptr kept_pointer;
static int throwing(const void *, const void *) { throw 5; }
rdb_end_globals
FUNCTIONS
int main() {
  auto *p = new All;
  for (int i = 0; i < 2; i++) {
    p->number += i; p->room[19999]++; p->flags[5] = false;
    CALLS
  }
  std::printf("%d %s %zu %d %u %d\n", p->number, p->text.c_str(), p->size, p->room[19999], (unsigned)p->random(), p->table[0]);
  std::cout << once() << std::endl;
  delete p;
  return 0;
}
