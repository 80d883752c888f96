# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug code lets functions of its C and C++ libraries, the kernel and inline assembly write to the program's memory: the
region sees what they wrote, and it is undone when the region ends. Every recording has hashes of memory and registers, which
the replay checks."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import each_region
import harness

# One region each; `#` stands for what it prints.
C_WRITES = r"""
printf("%d", sscanf("77 88 9.5 word", "%d %ld %lf %63s", &p->number, &p->big, &p->real, p->text)); printf(" %d %ld %g %s", p->number, p->big, p->real, p->text); # 4 77 88 9.5 word
sscanf("1 2 3 4 5 6 7 8", "%*d %d %d %d %d %d %d %d", &p->table[0], &p->table[1], &p->table[2], &p->table[3], &p->table[4], &p->number, &p->table[5]); printf("%d %d %d", p->table[0], p->number, p->table[5]); # 2 7 8
printf("%d %d", by_list("5 6", "%d %d", &p->number, &p->table[1]), p->number + p->table[1]); # 2 11
FILE *f = fopen("input", "r"); printf("%d", fscanf(f, "%d %63s", &p->number, p->text)); printf(" %d %s", p->number, p->text); fclose(f); # 2 31 line
FILE *f = fopen("input", "r"); fgets(p->text, 20, f); printf("%s", strtok(p->text, "\n")); fclose(f); # 31 line
FILE *f = fopen("/bin/sh", "r"); printf("%zu %.3s", fread(p->room, 1, sizeof p->room, f), p->room + 1); fclose(f); # 20000 ELF
FILE *f = fopen("input", "r"); printf("%zd %s", getdelim(&p->line, &p->size, ' ', f), p->line); fclose(f); # 3 31 
printf("%ld", strtol("123abc", &p->end, 10)); printf(" %s", p->end); # 123 abc
printf("%g", strtod("1.5xyz", &p->end)); printf(" %s", p->end); # 1.5 xyz
printf("%d", clock_gettime(CLOCK_REALTIME, &p->ts)); printf(" %d", p->ts.tv_sec > 0); # 0 1
printf("%d", clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &p->ts)); printf(" %d", p->ts.tv_sec + p->ts.tv_nsec > 0); # 0 1
printf("%d", gettimeofday(&p->tv, 0)); printf(" %d", p->tv.tv_sec > 0); time(&p->now); printf(" %d", p->now > 0); # 0 1 1
time_t zero = 0; gmtime_r(&zero, &p->tm); printf("%d", p->tm.tm_year); strftime(p->text, 20, "%Y", &p->tm); printf(" %s", p->text); # 70 1970
p->tm.tm_mday += 40; mktime(&p->tm); printf("%d", p->tm.tm_mday <= 31); # 1
printf("%d", stat("/bin/sh", &p->st)); printf(" %d", p->st.st_size > 0); # 0 1
int fd = open("/bin/sh", O_RDONLY); printf("%zd", read(fd, p->room, sizeof p->room)); close(fd); printf(" %.3s", p->room + 1); # 20000 ELF
int fd = open("/bin/sh", O_RDONLY); printf("%zd", pread(fd, p->room, sizeof p->room, 0)); close(fd); printf(" %.3s", p->room + 1); # 20000 ELF
int fd = open("/bin/sh", O_RDONLY); struct iovec v[2] = {{p->room, 10000}, {p->room + 10000, 10000}}; printf("%zd", readv(fd, v, 2)); close(fd); printf(" %.3s", p->room + 1); # 20000 ELF
int fd = open("/bin/sh", O_RDONLY); printf("%ld", syscall(SYS_read, fd, p->room, sizeof p->room)); close(fd); printf(" %.3s", p->room + 1); # 20000 ELF
int fd[2]; printf("%d", socketpair(AF_UNIX, SOCK_DGRAM, 0, fd)); write(fd[1], "message", 8); printf(" %zd %s", recv(fd[0], p->room, sizeof p->room, 0), p->room); # 0 8 message
int fd[2]; socketpair(AF_UNIX, SOCK_DGRAM, 0, fd); write(fd[1], "message", 8); struct iovec v = {p->room, 100}; struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1}; printf("%zd %s", recvmsg(fd[0], &m, 0), p->room); # 8 message
printf("%d", pipe(p->table) == 0 && p->table[0] > 2 && p->table[1] > 2); # 1
struct pollfd one = {1, POLLOUT, 0}; *(struct pollfd *)p->table = one; printf("%d", poll((struct pollfd *)p->table, 1, 0)); # 1
printf("%g", modf(3.25, &p->real)); printf(" %g", p->real); # 0.25 3
double half = frexp(6.0, &p->number); printf("%g %d", half, p->number); # 0.75 3
sincos(0, &p->real, &p->other); printf("%g %g", p->real, p->other); # 0 1
printf("%g", remquo(7.0, 2.0, &p->number)); printf(" %d", p->number); # -1 4
qsort(p->table, 6, sizeof *p->table, order); printf("%d %d", p->table[0], p->table[5]); # 1 6
qsort(p->table, 6, sizeof *p->table, own_order); printf("%d %d", p->table[0], p->table[5]); # 6 1
mbstowcs(p->wide, "hello", 20); printf("%ls", p->wide); # hello
swprintf(p->wide, 20, L"%d", 42); printf("%ls", p->wide); wcscat(p->wide, L"+"); printf("%ls", p->wide); # 4242+
wcstombs(p->text, L"narrow", 20); printf("%s", p->text); # narrow
printf("abc%n", &p->number); printf("%d", p->number); # abc3
char own[20]; sprintf(own, "ab%n", &p->number); snprintf(own, 20, "%.1fabc%n", 1.5, &p->table[0]); printf("%d %d", p->number, p->table[0]); # 2 6
printf("%d %s", asprintf(&p->line, "%s!", "made"), p->line); # 5 made!
printf("%s", strtok(p->words, " ")); printf(" %s", strtok(0, " ")); # one two
char *rest; printf("%s", strtok_r(p->words, " ", &rest)); printf(" %s", strtok_r(0, " ", &rest)); # one two
char *rest = p->words; printf("%s", strsep(&rest, " ")); printf(" %s", strsep(&rest, " ")); # one two
wchar_t *rest; swprintf(p->wide, 20, L"a b"); wcstok(p->wide, L" ", &rest); printf("%ls", wcstok(0, L" ", &rest)); # b
iconv_t how = iconv_open("UTF-16LE", "UTF-8"); char *in = "ab", *to = p->text; size_t size = 2, room = 20; iconv(how, &in, &size, &to, &room); printf("%d %d", p->text[0], p->text[1]); # 97 0
p->end = p->words; printf("%s", strsep(&p->end, " ")); printf(" %s", p->end); # one two three
printf("%s", realpath("/bin/../bin/true", p->room)); # /usr/bin/true
printf("%d", getcwd(p->room, sizeof p->room) == p->room && p->room[0] == '/'); # 1
printf("%d", uname((struct utsname *)p->room)); printf(" %s", p->room); # 0 Linux
struct rusage *usage = (struct rusage *)p->room; printf("%d", getrusage(RUSAGE_SELF, usage)); printf(" %d", usage->ru_maxrss > 0); # 0 1
swab("badc", p->text, 4); printf("%.4s", p->text); # abcd
printf("%d", inet_pton(AF_INET, "1.2.3.4", p->table)); printf(" %x", p->table[0]); # 1 4030201
jmp_buf *place = (jmp_buf *)p->room; if (!setjmp(*place)) longjmp(*place, 1); printf("jumped"); # jumped
printf("%d", pthread_mutex_lock(&p->lock)); printf(" %d", pthread_mutex_trylock(&p->lock) != 0); # 0 1
printf("%d", sem_trywait(&p->semaphore)); printf(" %d", sem_trywait(&p->semaphore)); # 0 -1
asm volatile("movl $55, %0" : "=m"(p->number)); printf("%d", p->number); # 55
asm volatile("movl $56, (%0)" : : "r"(&p->number)); printf("%d", p->number); # 56
asm volatile("movl $57, (%0)" : : "r"((long)&p->number) : "memory"); printf("%d", p->number); # 57
char *to = p->text; long n = 3; asm volatile("rep stosb" : "+D"(to), "+c"(n) : "a"('x') : "memory"); printf("%.3s", p->text); # xxx
void (*volatile bump)(struct all *) = bump_all; bump(p); sscanf("9", "%d", &p->number); bump(p); printf("%d", p->number); # 10
jmp_buf place; int key = 1; if (!setjmp(place)) { jump_to = &place; bsearch(&key, p->table, 6, sizeof key, jumping); } bump_all(p); time(&p->now); printf("%d", p->now > 1000); # 1
fillers[0](p->text); printf("%s", p->text); # filled
"""

C_PROGRAM = r"""#define _GNU_SOURCE
#include <rdb/rdb.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <iconv.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
struct all {
  int number, table[6];
  long big;
  double real, other;
  char text[64], words[64], *end, *line;
  size_t size;
  struct timespec ts;
  struct timeval tv;
  time_t now;
  struct tm tm;
  struct stat st;
  wchar_t wide[20];
  pthread_mutex_t lock;
  sem_t semaphore;
  char room[20000];
};
int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) void bump_all(struct all *p) { p->number++; }
rdb_begin_globals
static int own_order(const void *a, const void *b) { return *(const int *)b - *(const int *)a; }
static int by_list(const char *text, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int count = vsscanf(text, format, list);
  va_end(list);
  return count;
}
static jmp_buf *jump_to;
static int jumping(const void *a, const void *b) { (void)a, (void)b; longjmp(*jump_to, 1); }
static void fill(char *text) { strcpy(text, "filled"); }
static void (*volatile fillers[1])(char *) = {fill};
rdb_end_globals
FUNCTIONS
int main(void) {
  struct all *p = calloc(1, sizeof *p);
  int first[6] = {3, 1, 4, 5, 6, 2};
  memcpy(p->table, first, sizeof first);
  pthread_mutex_init(&p->lock, 0);
  sem_init(&p->semaphore, 0, 1);
  p->words[0] = 0;
  strcpy(p->words, "one two three");
  for (int i = 0; i < 2; i++) {
    p->number += i; p->now += 5; p->room[19999]++;
    CALLS
  }
  unsigned sum = 0;
  for (size_t i = 0; i < sizeof *p; i++) sum = sum * 31 + ((unsigned char *)p)[i];
  printf("%d %s %d\n", p->number, p->words, (int)(sum & 0) + p->room[19999]);
  return 0;
}
"""

CXX_WRITES = r"""
std::istringstream in("77 88 9.5 word c"); in >> p->number >> p->big >> p->real >> p->text >> p->letter; std::cout << p->number << p->big << p->real << p->text << p->letter; # 77889.5wordc
std::istringstream in("1 1 0x10 5"); bool yes; in >> yes >> p->yes >> std::hex >> p->number >> p->size; std::cout << p->yes << p->number << p->size; # 1165
std::istringstream in("a line of text\nand more"); std::string own; std::getline(in, own); std::getline(in, p->text); std::cout << own << ',' << p->text; # a line of text,and more
std::istringstream in("a line of text, longer than what is kept inside\nand more"); std::getline(in, p->text); std::cout << p->text.size(); # 47
std::istringstream in("text in pieces"); in.get(p->room, 5).read(p->room + 5, 3); std::cout << p->room << in.gcount() << p->room[6]; # text3i
std::istringstream in("one two"); in.getline(p->room, 20, ' '); std::cout << p->room; # one
std::ifstream in("/bin/sh", std::ios::binary); in.read(p->room, sizeof p->room); std::cout << in.gcount() << p->room[1]; # 20000E
std::ifstream in("input"); in >> p->number >> p->text; std::cout << p->number << p->text; # 31line
std::ifstream in("input"); std::cout << in.rdbuf()->sgetn(p->room, 4) << p->room[1]; # 41
auto [at, error] = std::from_chars("12x", "12x" + 2, p->number); std::cout << p->number; # 12
std::from_chars("2.5x", "2.5x" + 3, p->real); std::cout << p->real; # 2.5
auto [at, error] = std::to_chars(p->room, p->room + 20, 1.25); *at = 0; std::cout << p->room; # 1.25
auto [at, error] = std::to_chars(p->room, p->room + 20, 1234); *at = 0; std::cout << p->room; # 1234
std::cout << std::stoi("12ab", &p->size) << p->size; # 122
std::string upper = "x"; std::use_facet<std::ctype<char>>(std::locale()).toupper(p->room, p->room + 3); std::use_facet<std::ctype<char>>(std::locale()).toupper(upper.data(), upper.data() + 1); std::cout << upper << p->room; # XABCd
abi::__cxa_demangle("?", nullptr, nullptr, &p->number); std::cout << p->number; # -2
std::cout << std::string("copied").copy(p->room, 6) << p->room; # 6copied
std::locale copy = out.getloc(); kept_locale = copy; std::cout << copy.name(); # C
std::ostringstream os; os.imbue(out.getloc()); os << 5; std::cout << os.str(); # 5
kept_pointer = p->thrown; std::cout << (kept_pointer == p->thrown); # 1
std::lock_guard<std::mutex> hold(p->lock); std::cout << p->lock.try_lock(); # 0
std::cout << once(); # made at last
std::cout << once() << once().size(); once() += "more"; std::cout << once().size(); # made at last1216
std::time_t t = 0; std::cout << std::put_time(std::gmtime(&t), "%Y") << (std::istringstream("2001") >> std::get_time(&p->tm, "%Y")).good() << p->tm.tm_year; # 19700101
p->random.discard(3); std::cout << (p->random() != 0) << std::uniform_int_distribution<int>(3, 3)(p->random); # 13
std::cout << std::filesystem::exists("/none", p->error) << std::filesystem::file_size("/none", p->error) + 1 << p->error.value(); # 002
std::error_code error; p->path = std::filesystem::current_path(error); std::cout << p->path.is_absolute() << p->path.empty(); # 10
std::copy_n("abc", 3, p->text.begin()); std::cout << p->text; # abcin
std::stable_sort(p->table, p->table + 4); std::cout << p->table[0] << p->table[3]; # 14
std::vector<int> own{9, 8}; std::swap_ranges(own.begin(), own.end(), p->table); std::cout << p->table[0] << own[0]; # 93
std::fill_n(p->flags.begin(), 3, true); p->flags.flip(); std::cout << p->flags[0] << p->flags[5]; # 01
auto strings = std::vector<std::string>(3, p->text); strings[0] += "x"; std::cout << strings[0]; # beginx
try { std::stoi(p->text, &p->size); } catch (std::invalid_argument &e) { std::cout << e.what(); } # stoi
int key = 3; try { std::bsearch(&key, p->table, 4, sizeof key, throwing); } catch (int n) { std::cout << "caught " << n << ' '; } std::sscanf("8", "%d", &p->number); std::cout << p->number << tag(p->number); # caught 5 89
try { p->text.at(100) = 'c'; } catch (std::out_of_range &e) { std::cout << "out of range"; } # out of range
"""

CXX_PROGRAM = r"""#include <rdb/rdb.h>
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
"""


@harness.needs_compiler
class LibraryWrites(harness.TestCase):
    def test_c(self):
        each_region.check(self, "writes.c", C_PROGRAM, C_WRITES, "struct all", 'puts("");')

    def test_cxx(self):
        each_region.check(self, "writes.cc", CXX_PROGRAM, CXX_WRITES, "All", 'std::cout << "\\n";')


if __name__ == "__main__":
    harness.main()
