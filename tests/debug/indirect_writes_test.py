# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the C and C++ libraries find the program's memory behind variables of debug code's own: behind a stream, in a
list, by a structure that was filled before. The region sees what they write there, and it is undone when the region ends.
Every recording has hashes of memory and registers, which the replay checks."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import each_region
import harness

# One region each; `#` stands for what it prints. A call of the program lets everybody write again.
C_WRITES = r"""
printf("%d", initstate_r(5, p->state, sizeof p->state, &kept_data)); # 0
int one; random_r(&kept_data, &one); printf("%d", one >= 0); # 1
char *rest = p->words; printf("%s", __strtok_r(0, " ", &rest)); # one
int fd = open("/dev/zero", O_RDONLY); struct iovec to = {p->room + 10000, 100}; long n = syscall(SYS_readv, fd, &to, 1); printf("%d", n == 100 ? p->room[10000] == 0 : n == -1 && errno == EFAULT); close(fd); # 1
by_wide_list(L"ab%n", &p->number); printf("%d", p->number); # 2
by_list("abc%n", &p->number); printf(" %d", p->number); # abc 3
FILE *f = fopen("/dev/null", "w"); fwprintf(f, L"%d of %5n", 5, &p->number); fclose(f); printf("%d", p->number); # 5
struct option options[] = {{"set", 0, &p->number, 42}, {0}}; char *words[] = {"name", "--set", 0}; read_options(words, options); printf("%d", p->number); # 42
void *root = p->tree; printf("%s", *(char **)tsearch("c", &root, own_order)); # c
int (*volatile next)(struct random_data *, int *) = random_r; int one; next(&kept_data, &one); printf("%d", one >= 0); # 1
freeaddrinfo(p->address); char *own = malloc(sizeof *p->address); memset(own, 1, sizeof *p->address); printf("%d", (void *)own != p->address); free(own); # 1
regex_t own = p->pattern; printf("%d", regexec(&own, "xaab", 0, 0, 0)); bump(p); printf("%d", regexec(&own, "xcab", 0, 0, 0)); regfree(&own); # 01
"""

C_PROGRAM = r"""#define _GNU_SOURCE
#include <rdb/rdb.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <regex.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <wchar.h>
struct all {
  int number;
  struct addrinfo *address;
  regex_t pattern;
  void *tree;
  char words[20], state[64], room[20000];
};
int order(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
__attribute__((noinline)) void bump(struct all *p) { p->number++; }
rdb_begin_globals
static void by_wide_list(const wchar_t *format, ...) {
  wchar_t own[20];
  va_list list;
  va_start(list, format);
  vswprintf(own, 20, format, list);
  va_end(list);
}
static void by_list(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vdprintf(1, format, list);
  va_end(list);
}
static void read_options(char **words, struct option *options) {
  int *next = &optind;
  *next = 0;
  getopt_long(2, words, "", options, 0);
}
static struct random_data kept_data;
static int own_order(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
rdb_end_globals
FUNCTIONS
int main(void) {
  struct all *p = calloc(1, sizeof *p);
  strcpy(p->words, "one two");
  memset(p->state, 7, sizeof p->state);
  memset(p->room, 7, sizeof p->room);
  tsearch("b", &p->tree, order);
  p->address = calloc(1, sizeof *p->address);
  if (regcomp(&p->pattern, "a.b", REG_EXTENDED)) return 1;
  for (int i = 0; i < 2; i++) {
    p->number = 7;
    CALLS
  }
  printf("%d %d\n", p->number, regexec(&p->pattern, "acb", 0, 0, 0));
  return 0;
}
"""

CXX_WRITES = r"""
std::ospanstream os(std::span<char>(p->room, 100)); os << 12 << "ab"; std::cout << p->room[0] << p->room[3]; # 1b
std::ostrstream os(p->room, 100); os << 12 << "ab" << std::ends; std::cout << p->room; # 12ab
std::strstreambuf both(p->room, 100, p->room); std::ostream os(&both); os << "text"; bump(p); os << '!'; std::cout << std::string_view(p->room, 5); # text!
Area area; area.put_to(p->room); std::ostream os(&area); os << 3.5 << "xy" << std::flush; bump(p); os.write("zz", 2); std::cout << std::string_view(p->room, 7); # 3.5xyzz
Area area; area.put_to(p->room); area.sputn("hello", 5); area.sputc('!'); std::cout << std::string_view(p->room, 6); # hello!
Area area; area.put_to(p->room); std::ostreambuf_iterator<char> it(&area); std::use_facet<std::num_put<char>>(std::locale()).put(it, std::cout, ' ', 77L); std::cout << std::string_view(p->room, 2); # 77
Area area; area.put_to(p->room); std::cin.tie(); std::istringstream in("from a stream"); in >> &area; std::cout << std::string_view(p->room, 13); # from a stream
Area area; area.put_to(p->room); std::streambuf *own = kept_stream.rdbuf(); static_cast<std::ios &>(kept_stream).rdbuf(&area); kept_stream << 81; static_cast<std::ios &>(kept_stream).rdbuf(own); std::cout << std::string_view(p->room, 2); # 81
std::stringbuf made(std::move(p->long_text), std::ios::out); std::ostream os(&made); os << "over"; std::cout << made.str().substr(0, 6); # overxt
std::string own = std::move(p->long_text); std::istringstream in("new words"); std::getline(in, own); std::cout << own; # new words
std::string own = std::move(p->long_text); std::istringstream in("new words"); in >> own; std::cout << own; # new
std::wstring own = std::move(p->wide_text); own.replace(1, 2, L"yy"); own += L"x"; std::cout << own.size(); # 39
std::list<int> own = std::move(p->list); own.push_back(7); own.push_front(8); own.reverse(); own.sort(); own.pop_back(); std::cout << own.front() << own.back() << own.size(); # 174
std::list<int> own{9}; own.splice(own.begin(), p->list); own.remove(1); own.unique(); std::cout << own.size(); # 3
std::list<int> own{9}, other{8}; own.splice(own.end(), p->list); other.swap(own); own.push_back(4); other.push_back(5); std::cout << other.size() << own.size(); # 52
std::map<int, int> own = std::move(p->map); for (int i = 0; i < 40; i++) own[i * 7 % 41] = i; for (int i = 3; i < 30; i += 2) own.erase(i); std::cout << own.size(); # 27
std::map<int, int> own; for (int i = 0; i < 9; i++) own[i] = i; own.merge(p->map); own.erase(2); own.erase(11); std::cout << own.size(); # 11
std::runtime_error copy = *p->failure; bump(p); { std::runtime_error again = copy; } std::cout << copy.what(); # it failed
try { throw *p->failure; } catch (std::runtime_error &e) { std::cout << e.what(); } # it failed
std::filesystem::directory_iterator own = p->folder; bump(p); ++own; ++own; std::cout << (own != std::filesystem::directory_iterator()); # 1
std::filesystem::path own = std::move(p->path); own /= "more"; own.replace_extension(".x"); std::cout << own.string(); # /a/rather/long/path/of/names/more.x
std::pmr::monotonic_buffer_resource small(p->room, 10000); std::pmr::unsynchronized_pool_resource pool(&small); std::pmr::vector<int> v(&pool); for (int i = 0; i < 50; i++) v.push_back(i); std::pmr::string s("a string that is long enough", &small); std::cout << v[49] << s.size(); # 4928
std::ostringstream os; os.imbue(p->locale); bump(p); os << 1234; std::locale own = os.getloc(); bump(p); { std::locale other = own; } std::cout << os.str(); # 1,234
std::ostream os(p->out.rdbuf()); os << 12 << "34"; os.seekp(1); os << 'x'; std::cout << p->out.str(); # 1x34
std::cout << std::stold("2.5") + std::stod("1.25"); # 3.75
p->out << "e" << std::endl; std::cout << p->out.str().size(); # 2
std::shared_ptr<int> own = p->shared, other = own; std::weak_ptr<int> weak = own; std::cout << own.use_count(); # 3
char own[100]; std::ofstream file; file.rdbuf()->pubsetbuf(own, 100); file.open("/dev/null"); file << 5; std::cout << file.good() << std::stoi(p->long_text.substr(0, 0) + "7"); # 17
silent << 5; std::ostream other(nullptr); other << 5; std::cout << silent.good() << other.good(); # 00
std::regex pattern("a+b", std::regex::icase); std::cout << std::regex_search("xxAab", pattern) << std::regex_replace("xaab", pattern, "-"); # 1x-
"""

CXX_PROGRAM = r"""#include <rdb/rdb.h>
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
"""


@harness.needs_compiler
class IndirectWrites(harness.TestCase):
    def test_c(self):
        each_region.check(self, "writes.c", C_PROGRAM, C_WRITES, "struct all", 'puts("");')

    def test_cxx(self):
        each_region.check(self, "writes.cc", CXX_PROGRAM, CXX_WRITES, "All", 'std::cout << "\\n";', ["-std=c++23"])


if __name__ == "__main__":
    harness.main()
