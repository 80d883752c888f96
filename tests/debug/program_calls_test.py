# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug code calls functions of the program, and they call back, with arguments and results of every class. The oracle is the
same code compiled into the program. What cannot be done is refused by name."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

CLASSES = r"""#include <rdb/rdb.h>
#include <cstdarg>
#include <cstdio>
#include <stdexcept>
struct Big { long v[64]; };
struct alignas(64) Aligned { long v[16]; };
struct Mid { long a; double b; };
struct Small { float x, y, z; };
typedef float Vector __attribute__((vector_size(VECTOR)));
typedef long Callback(Big, double, Vector, long double, Aligned, int);
constexpr int kLast = VECTOR / 4 - 1;
long double extended(long double x, int n) { return x * n; }
_Complex long double complex(_Complex long double x) { return x * 2; }
Big make(int n) { Big b; for (int i = 0; i < 64; i++) b.v[i] = i * n; return b; }
Aligned make_aligned(int n) { Aligned a; for (int i = 0; i < 16; i++) a.v[i] = i * n; return a; }
long take(Big b, Aligned a, int k) { return b.v[63] + b.v[1] + a.v[15] + k + (long)&a % 64; }
Mid mid(Mid m) { m.a++; m.b *= 2; return m; }
Small small(Small s) { s.z += 1; return s; }
__int128 wide(__int128 x) { return x * 3; }
double sum(int n, ...) { va_list l; va_start(l, n); double s = 0; while (n-- > 0) s += va_arg(l, double); va_end(l); return s; }
Vector twice(Vector a) { return a + a; }
Vector filled(float x) { Vector v; for (int i = 0; i <= kLast; i++) v[i] = x + i; return v; }
long call(Callback *f, int n) { return 10 + f(make(n), 2.5, filled(1), 1.5L, make_aligned(n), n); }
int throws(int n) { if (n > 1) throw std::runtime_error("thrown"); return n; }
int catches(int n) { try { return throws(n); } catch (const std::exception &) { return -1; } }
SEE(see)
static void all() {
  CALLS(see)
}
rdb_begin_globals
SEE(again)
rdb_end_globals
int main() {
  int n = 0;
  rdb_begin
    CALLS(again)
  rdb_end
  n++;
  rdb_begin
    try { throws(7); } catch (const std::exception &e) { std::printf("caught %s\n", e.what()); }
  rdb_end
  all();
  return n;
}
"""

# What the program and debug code both do.
SEE = r"""static long NAME(Big b, double d, Vector v, long double x, Aligned a, int n) {
  std::printf("see %ld %g %g %Lg %ld %ld %d %g\n", b.v[63], d, v[kLast], x, a.v[15], (long)&a % 64, n, twice(v)[kLast]);
  return b.v[2] + take(b, a, n);
}"""
CALLS = r"""
  std::printf("extended %Lg\n", extended(1.5L, 3));
  _Complex long double c = complex(1.0L + 2.0L * 1.0iL);
  std::printf("complex %Lg %Lg\n", __real__ c, __imag__ c);
  Big b = make(2);
  std::printf("big %ld %ld\n", b.v[63], take(b, make_aligned(3), 5));
  Mid m = mid({4, 2.5});
  Small s = small({1, 2, 3});
  std::printf("mid %ld %g small %g %g\n", m.a, m.b, s.x, s.z);
  std::printf("wide %ld sum %g\n", (long)(wide((__int128)5 << 64) >> 64), sum(12, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12.));
  Vector v = twice(filled(3));
  std::printf("vector %g %g\n", v[0], v[kLast]);
  std::printf("catches %d, call %ld\n", catches(5), call(NAME, 7));
"""

ERRNO = r"""#include <rdb/rdb.h>
#include <errno.h>
#include <stdio.h>
__attribute__((noinline)) int fails(int n) { errno = n; return -1; }
__attribute__((noinline)) int error_now(void) { return errno; }
__attribute__((noinline)) int through(int (*f)(void)) { int before = f(); return 1000 * before + errno; }
rdb_begin_globals
static int called(void) { int before = errno; errno = 7; return before; }
rdb_end_globals
int main(void) {
  errno = 5;
  int n = error_now();
  rdb_begin
    printf("%d", errno);
    fails(11);
    printf(" %d", errno);
    errno = 0;
    printf(" %d", error_now());
    fails(5);
    printf(" %d", errno);
    errno = 12;
    printf(" %d", through(called));
    printf(" %d\n", errno);
  rdb_end
  n += error_now();
  printf("%d %d %d\n", n, errno, fails(2) + through(error_now));
  return 0;
}
"""


@harness.needs_compiler
class ProgramCalls(harness.TestCase):
    def test_arguments_and_results_of_every_class(self):
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            avx = re.search(r"^flags.*\bavx\b", info.read(), re.M) is not None
        text = re.sub(r"(SEE|CALLS)\((\w+)\)", lambda use: {"SEE": SEE, "CALLS": CALLS}[use[1]].replace("NAME", use[2]), CLASSES)
        self.write("classes.cc", text)
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                self.run_program([harness.program("rdb-clang++"), "-g", "-w", level, *(["-mavx", "-DVECTOR=32"] if avx else ["-DVECTOR=16"]),
                                  "-o", "prog", "classes.cc"], status=0)
                self.run_program(["/bin/rm", "-rf", self.path("trace")])
                recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog", status=1)
                self.assertIn("see 441 2.5 ", recorded.out)
                replayed = self.rdb("replay", self.path("trace"), status=1)
                self.assertEqual(replayed.out, recorded.out * 2, f"\n{replayed}")
                self.assertIn("an exception left a function of the program", replayed.err)

    def test_errno(self):
        """Debug code and what it calls have one; the program's is what it was afterwards."""
        self.write("errno.c", ERRNO)
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                self.run_program([harness.program("rdb-clang"), "-g", level, "-o", "prog", "errno.c"], status=0)
                self.run_program(["/bin/rm", "-rf", self.path("trace")])
                recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog", status=0)
                replayed = self.rdb("replay", self.path("trace"), status=0)
                self.assertEqual(replayed.out, "5 11 0 5 12007 7\n" + recorded.out, f"\n{replayed}")

    def test_indirect_functions_of_a_library(self):
        """What is exported is the function that chooses one: it must not be called instead."""
        self.write("indirect.c", r"""#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>
char text[40] = "abc";
int main(void) {
  int n = (int)strlen(text);
  rdb_begin
    printf("length %d\n", n);
    printf("%zu\n", rdb_guest(strlen)(text));
  rdb_end
  return n;
}
""")
        self.run_program([harness.program("rdb-clang"), "-g", "-O0", "-fno-builtin", "-o", "prog", "indirect.c"], status=0)
        self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog", status=3)
        replayed = self.rdb("replay", self.path("trace"), status=3)
        self.assertEqual(replayed.out, "length 3\n", f"\n{replayed}")
        self.assertIn("or an indirect one (ifunc); this region is not run any more", replayed.err)


if __name__ == "__main__":
    harness.main()
