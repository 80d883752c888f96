# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug code has a libc and libstdc++ of its own: what it prints, allocates, opens, sets and constructs is its own
business. Every recording has hashes of memory and registers, which the replay checks."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

C_FEATURES = r"""#include <rdb/rdb.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
rdb_begin_globals
#include <setjmp.h>
static FILE *journal;
static char *kept;
static int count = 3;
static __thread int mine = 40;
static jmp_buf place;
rdb_end_globals
int number = 7;
int main(void) {
  FILE *volatile out = stdout, *volatile err = stderr;
  errno = 0;
  close(-1);
  rdb_begin
    printf("errno %d count %d\n", errno, count);
    journal = fopen("journal.txt", "w");
    errno = EDOM;
    fprintf(out, "to the program's stdout\n");
    fputs("to its stderr\n", err);
    fprintf(journal, "number %d\n", number);
    kept = strdup("kept");
    mine++;
  rdb_end
  int seen = errno;
  printf("errno %d %.1f %s\n", seen, 2.5, setlocale(LC_ALL, 0));
  fflush(stdout);
  rdb_begin
    setlocale(LC_ALL, "C.UTF-8");
    kept = realloc(kept, 100000);
    strcat(kept, " and grown");
    printf("%s, %d, %s\n", kept, mine, setlocale(LC_ALL, 0));
    if (!setjmp(place)) longjmp(place, 1);
    printf("jumped\n");
    free(kept);
    fprintf(journal, "number %d\n", number + 1);
    fclose(journal);
  rdb_end
  number++;
  printf("%s\n", setlocale(LC_ALL, 0));
  return number;
}
"""

# What stands in the x87 unit is the program's, also while it has never used it.
X87 = r"""#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 1000);
  unsigned short control = 0, environment[14] = {0}, narrow = 0x27f;
  double value = 0;
  rdb_begin
    unsigned short coarse = 0xc7f;
    printf("%.2Lf\n", strtold("1", NULL) / 3);
    __asm__ volatile("fldl2e; fldcw %0" : : "m"(coarse));
  rdb_end
  rdb_begin
    unsigned short own;
    __asm__ volatile("fnstcw %0" : "=m"(own));
    printf("%x\n", own);
  rdb_end
  __asm__ volatile("fnstcw %0; fnstenv %1" : "=m"(control), "=m"(environment));
  printf("%x %x %x\n", control, environment[2], environment[4]);
  __asm__ volatile("fldcw %0; fldpi" : : "m"(narrow));
  rdb_begin
    printf("%.2Lf\n", strtold("2.5", NULL) / 3);
    __asm__ volatile("fldl2e");
  rdb_end
  __asm__ volatile("fnstcw %0; fstpl %1; fnstenv %2" : "=m"(control), "=m"(value), "=m"(environment));
  printf("%x %.5f %x\n", control, value, environment[4]);
  return 0;
}
"""

CXX_FEATURES = r"""#include <rdb/rdb.h>
#include <cstdio>
#include <string>
#include <vector>
struct Account { std::string name; int balance; virtual ~Account() = default; virtual int worth() const { return balance * 2; } };
struct Rich : Account { int worth() const override { calls++; return balance * 3; } mutable int calls = 0; };
template <class T> __attribute__((noinline)) T larger(T a, T b) { return a < b ? b : a; }
std::string describe(const Account &account) { return account.name + "!"; }
rdb_begin_globals
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
struct Log {
  std::ofstream file{"log.txt"};
  std::map<std::string, int> seen;
  Log() { file << "begin\n"; }
  ~Log() { file << "end " << seen.size() << "\n"; }
};
static Log journal;
static thread_local int calls = 5;
rdb_end_globals
int main() {
  std::vector<Account *> all = {new Account, new Rich};
  all[0]->name = "ann";
  all[1]->name = "a name that is too long to be kept inside of its string";
  for (Account *account : all) account->balance = static_cast<int>(account->name.size());
  for (Account *account : all) {
    rdb_begin
      std::ostringstream text;
      text << account->name << " " << account->worth() << " " << larger(account->balance, 10) << " " << describe(*account).size();
      journal.seen[account->name] += ++calls;
      auto copy = std::make_unique<std::string>(account->name);
      std::cout << text.str() << " " << copy->size() << " " << journal.seen.size() << " " << all.size() << std::endl;
      journal.file << account->balance << "\n";
    rdb_end
    account->balance++;
  }
  int sum = 0;
  for (Account *account : all) sum += account->worth();
  std::printf("%d %d\n", sum, static_cast<Rich *>(all[1])->calls);
  sum += larger(sum, 3) + static_cast<int>(describe(*all[0]).size());
  for (Account *account : all) delete account;
  return sum & 63;
}
"""

FOREIGN_FILE = r"""#include <rdb/rdb.h>
#include <stdio.h>
int main(void) {
  FILE *file = fopen("/dev/null", "w");
  rdb_begin
    printf("before\n");
    fprintf(file, "into the program's own buffer\n");
    printf("not reached\n");
  rdb_end
  fputs("text", file);
  puts("program");
  return fclose(file);
}
"""

# The same calls in the program, whose libc does them all, and in a region: PRINTS stands for them.
FORMATS = r"""#include <rdb/rdb.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
rdb_begin_globals
static int by_list(char *to, size_t size, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int result = vsnprintf(to, size, format, list);
  va_end(list);
  return result;
}
rdb_end_globals
static int by_list_too(char *to, size_t size, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int result = vsnprintf(to, size, format, list);
  va_end(list);
  return result;
}
#define PRINTS(by_list)                                                                          \
  char text[64], *none = 0;                                                                      \
  static char long_text[3000];                                                                   \
  memset(long_text, 'x', sizeof long_text - 1);                                                  \
  printf("%d %i %u|%d %d %d\n", 0, -1, 7u, INT_MIN, INT_MAX, 10);                               \
  printf("%ld %lld %lu %llu %zu\n", LONG_MIN, LLONG_MAX, ULONG_MAX, 10000000000ull, sizeof text);\
  printf("%u %lu %lu\n", UINT_MAX, 9999999999999999999ul, 10000000000000000000ul);              \
  printf("%x %X %lx %zX %x\n", 0u, 0xBEEFu, ULONG_MAX, (size_t)0xabc, 16u);                     \
  printf("%s%s%c%% %p %p\n", "", "text", 'c', (void *)0x1234, (void *)none);                    \
  printf("%s\n", none);                                                                         \
  printf("%5d|%-5d|%05d|%+d|% d|%.3d|%#x\n", 42, 42, 42, 42, 42, 42, 42);                       \
  printf("%hd %hhd %f %.2e %*d %.3s\n", 70000, 300, 1.5, 12345.678, 6, 7, "abcdef");            \
  printf("%s %d\n", long_text, 1);                                                              \
  printf("%d\n", printf("%s", ""));                                                             \
  for (size_t room = 0; room < 9; room++) {                                                      \
    memset(text, '#', sizeof text);                                                              \
    int a = snprintf(text, room, "%d", -12345);                                                  \
    int b = snprintf(text + 10, room, "ab%sde", "c");                                            \
    int c = by_list(text + 20, room, "%x%c", 0xabcdef, 'z');                                     \
    int d = by_list(text + 30, room, "%4d%s", 1, "zz");                                          \
    for (int i = 0; i < 40; i++) putchar(text[i] ? text[i] : '0');                               \
    fprintf(stdout, " %d %d %d %d\n", a, b, c, d);                                              \
  }
int main(void) {
  {
    PRINTS(by_list_too)
    fflush(stdout);
  }
  rdb_begin
    PRINTS(by_list)
  rdb_end
  return 0;
}
"""

# What functions of the program give to debug code lies in the program's heap; debug code destroys it.
GIVEN = r"""#include <rdb/rdb.h>
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
    std::printf("%zu %zu %d %zu %zu %d %zu\n", v.size(), m.size(), n[0].value, n[0].name.size(), s->name.size(), v.back(), kept.size());
  rdb_end
  return i + static_cast<int>(text(20).size());
}
int main() {
  int sum = 0;
  for (int i = 0; i < 50; i++) sum += step(i) + numbers(4)[3] + table(3).begin()->second.value + several(2)[0].value + shared(3)->value;
  std::printf("sum %d\n", sum);
  rdb_begin
    std::printf("%zu %zu %s\n", kept.size(), kept[49].size(), stream.str().substr(0, 10).c_str());
    char *c = copy("x");
    c = static_cast<char *>(realloc(c, 100));
    std::printf("%s\n", c);
  rdb_end
  return 0;
}
"""

# Classes, static locals and thread-local objects of debug code's own, and what the library makes of such.
OWN_CLASSES = r"""#include <rdb/rdb.h>
#include <cstdio>
#include <stdexcept>
#include <string>
struct Base { virtual ~Base() = default; virtual int f() const { return 1; } };
struct Derived : Base { int f() const override { return 2; } };
struct ProgramError : std::runtime_error { int code; explicit ProgramError(int c) : std::runtime_error("program's "), code(c) {} };
struct Plain { int value; };
int throws(int k) { if (k > 1) throw ProgramError(k); return k; }
int n;
Base *volatile object = new Derived;
thread_local std::string program_text = "program";
rdb_begin_globals
#include <any>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>
#include <thread>
#include <variant>
struct Error : std::runtime_error { int code; explicit Error(int c) : std::runtime_error("error"), code(c) {} };
struct Shape { virtual ~Shape() = default; virtual int area() const = 0; };
struct Square : Shape { int side; explicit Square(int s) : side(s) {} int area() const override { return side * side; } };
struct Watcher : Base { int f() const override { return 42; } };
struct Counter : std::streambuf { int count = 0; int overflow(int c) override { count++; return c; } };
struct Life { const char *name; explicit Life(const char *s) : name(s) { std::printf("make %s\n", s); } ~Life() { std::printf("destroy %s\n", name); } };
static Life first("first"), second("second");
static Life &lazy() { static Life l("lazy"); return l; }
static thread_local std::string own_text = "own";
thread_local std::string shared_text = "shared";
static std::function<int(int)> twice = [](int x) { return x * 2; };
static std::unique_ptr<Shape> shape = std::make_unique<Square>(3);
inline std::map<std::string, int> registry;
rdb_end_globals
int main() {
  program_text += "!";
  try { throws(2); } catch (const ProgramError &) { program_text += "!"; }
  for (int i = 0; i < 2; i++) {
    n += i;
    rdb_begin
      try { throw Error(i); } catch (const std::exception &e) { std::cout << e.what(); }
      try { throw Error(i); } catch (const Error &e) { std::cout << " " << e.code << "\n"; }
      try { throw ProgramError(i); } catch (const ProgramError &e) { std::cout << e.what() << e.code << "\n"; }
      try { throw Plain{i}; } catch (const Plain &e) { std::cout << "plain " << e.value << "\n"; }
    rdb_end
    n++;
    rdb_begin
      std::shared_ptr<Shape> square = std::make_shared<Square>(i + 1);
      std::cout << "area " << square->area() << " " << shape->area() << "\n";
      Watcher w;
      Base *b = &w;
      std::cout << b->f() << object->f() << (dynamic_cast<Derived *>(object) != nullptr) << (dynamic_cast<Watcher *>(b) != nullptr) << "\n";
    rdb_end
    n++;
    rdb_begin
      Counter counter;
      std::ostream(&counter) << "hello";
      own_text += "x";
      registry["k"] += n;
      std::cout << counter.count << " " << own_text << " " << shared_text << " " << program_text << " " << twice(n) << " " << registry["k"] << "\n";
      std::cout << lazy().name << "\n";
    rdb_end
    n++;
    rdb_begin
      std::variant<int, std::string> v = "text";
      std::visit([](auto &x) { std::cout << x; }, v);
      std::cout << std::any_cast<int>(std::any(5)) << std::regex_replace(std::string("abbbc"), std::regex("b+"), "X")
                << std::async(std::launch::deferred, [] { return 7; }).get() << "\n";
    rdb_end
    n++;
  }
  rdb_begin
    std::cout << "thread\n";
    std::thread([] { std::cout << "not reached\n"; }).join();
  rdb_end
  std::printf("n %d %s\n", n, program_text.c_str());
}
"""


ENDINGS = r"""#include <rdb/rdb.h>
#include <cstdio>
int n;
rdb_begin_globals
#include <cstdlib>
#include <iostream>
static void first() { std::cout << "first\n"; }
static void second() { std::cout << "second " << n << "\n"; }
rdb_end_globals
int main() {
  for (int i = 0; i < 2; i++) {
    n++;
    rdb_begin
      if (i == 0) { std::ios::sync_with_stdio(false); std::atexit(first); std::atexit(second); }
      std::cout << "cout " << i << '\n';
      std::printf("printf %d\n", i);
      std::clog << "clog " << i << '\n';
    rdb_end
    std::printf("program %d\n", i); std::fflush(stdout);
  }
  return 0;
}
"""

# All threads of the program are one thread of rdb's.
THREADS = r"""#include <rdb/rdb.h>
#include <cstdio>
#include <thread>
int n;
rdb_begin_globals
#include <string>
struct Life {
  std::string name = "somebody whose name is long";
  int hits = 0;
  ~Life() { std::printf("end of %s, %d hits\n", name.c_str(), hits); }
};
static thread_local Life life;
static thread_local int count = 40;
static __thread long plain;
static thread_local long *where = &plain;
rdb_end_globals
__attribute__((noinline)) void work(int id) {
  for (int i = 0; i < 2; i++) {
    __asm__ volatile("" : : "r"(id), "r"(i) : "memory");
    rdb_begin
      if (life.hits++ == 0) life.name += ", of thread " + std::to_string(id);
      ++*where;
      std::printf("%d: %d %ld %d %s\n", id, ++count, plain, life.hits, life.name.c_str() + 28);
    rdb_end
    __asm__ volatile("" : : "r"(id), "r"(i) : "memory");
    std::this_thread::yield();
  }
}
int main() {
  work(0);
  std::thread first(work, 1);
  first.join();
  std::thread second(work, 2);
  work(3);
  second.join();
  return 0;
}
"""


class PrivateLibc(harness.TestCase):
    def replay(self, name, source, *flags, options=()):
        self.write(name, source)
        compiler = harness.program("rdb-clang++" if name.endswith(".cc") else "rdb-clang")
        self.run_program([compiler, "-g", *flags, "-o", "prog", name], status=0)
        self.run_program(["/bin/rm", "-rf", self.path("trace")])
        recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog")
        replayed = self.rdb("replay", *options, self.path("trace"))
        self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")
        return recorded, replayed

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_c(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                recorded, replayed = self.replay("c.c", C_FEATURES, level)
                self.assertEqual(recorded.out, "errno 9 2.5 C\nC\n")
                self.assertEqual(replayed.out, "errno 9 count 3\nto the program's stdout\nerrno 9 2.5 C\n"
                                               "kept and grown, 41, C.UTF-8\njumped\nC\n", replayed.err)
                self.assertIn("to its stderr\n", replayed.err)
                self.assertEqual(self.read("journal.txt"), "number 7\nnumber 8\n")

    def test_x87(self):
        recorded, replayed = self.replay("x87.c", X87, "-O0")
        self.assertEqual(recorded.out, "37f 0 ffff\n27f 3.14159 ffff\n")
        self.assertEqual(replayed.out, "0.33\n37f\n37f 0 ffff\n0.83\n27f 3.14159 ffff\n", replayed.err)

    def test_cxx(self):
        for level in ("-O0",):
            with self.subTest(level):
                recorded, replayed = self.replay("cxx.cc", CXX_FEATURES, level)
                self.assertEqual(replayed.out, "ann 6 10 4 3 1 2\na name that is too long to be kept inside of its string 165 55 56 "
                                               "55 2 2\n" + recorded.out, replayed.err)
                self.assertEqual(self.read("log.txt"), "begin\n3\n55\nend 2\n")

    def test_classes_of_its_own(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                recorded, replayed = self.replay("own.cc", OWN_CLASSES, level)
                self.assertIn(recorded.out, replayed.out)
                if level == "-O0":
                    self.assertEqual(replayed.out, "make first\nmake second\n"
                                     "error 0\nprogram's 0\nplain 0\narea 1 9\n42211\n5 ownx shared program!! 4 2\nmake lazy\nlazy\ntext5aXc7\n"
                                     "error 1\nprogram's 1\nplain 1\narea 4 9\n42211\n5 ownxx shared program!! 14 9\nlazy\ntext5aXc7\n"
                                     "thread\n" + recorded.out + "destroy lazy\ndestroy second\ndestroy first\n", replayed.err)
                    self.assertIn("debug code must not call std::thread", replayed.err)

    def test_what_is_to_come_at_the_end(self):
        """And streams with buffers of their own, whose output belongs to the region nevertheless."""
        _, replayed = self.replay("endings.cc", ENDINGS, "-O0")
        self.assertEqual(replayed.out, "".join(f"cout {i}\nprintf {i}\nprogram {i}\n" for i in range(2)) + "second 2\nfirst\n", f"\n{replayed}")
        self.assertTrue(replayed.err.endswith("\nclog 0\nclog 1\n"), f"\n{replayed}")

    def test_variables_of_each_thread(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                _, replayed = self.replay("threads.cc", THREADS, level)
                lines = replayed.out.splitlines()
                for who, begin in ((0, 0), (1, 0), (2, 0), (3, 2)):
                    name = ", of thread " + str(0 if who == 3 else who)
                    self.assertEqual([line for line in lines if line.startswith(f"{who}: ")],
                                     [f"{who}: {41 + i} {1 + i} {1 + i} {name[1:]}" for i in (begin, begin + 1)], f"\n{replayed}")
                self.assertEqual(sorted(lines[-3:]), [f"end of somebody whose name is long, of thread {who}, {hits} hits" for who, hits in ((0, 4), (1, 2), (2, 2))])

    def test_objects_that_the_program_gives(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                recorded, replayed = self.replay("given.cc", GIVEN, level)
                lines = [f"{6 + i} 4 3 41 51 {i} {i + 1}" for i in range(50)]
                self.assertEqual(replayed.out.splitlines(), [*lines, "50 87 xxx!6xxx!7", recorded.out.strip()], f"\n{replayed}")
                self.assertIn("debug code must not call realloc with memory of the program", replayed.err)

    def test_formats_are_those_of_libc(self):
        recorded, replayed = self.replay("formats.c", FORMATS, "-O0", "-Wno-format")
        self.assertEqual(replayed.out, recorded.out * 2, replayed.err)

    def test_a_file_of_the_program_is_refused(self):
        recorded, replayed = self.replay("file.c", FOREIGN_FILE, "-O0")
        self.assertEqual(replayed.out, "before\n" + recorded.out)
        self.assertIn("called fprintf with a FILE of the program", replayed.err)


if __name__ == "__main__":
    harness.main()
