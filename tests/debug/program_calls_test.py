# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug code calls functions of the program, and they call back, with arguments and results of every class. The oracle is the
same code compiled into the program. What cannot be done is refused by name."""
import re

import harness

CLASSES = harness.program_text(__file__, "program_calls/classes.cc")

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

ERRNO = harness.program_text(__file__, "program_calls/errno.c")


@harness.needs_compiler
class ProgramCalls(harness.TestCase):
    def test_arguments_and_results_of_every_class(self):
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            avx = re.search(r"^flags.*\bavx\b", info.read(), re.M) is not None
        text = re.sub(r"(SEE|CALLS)\((\w+)\)", lambda use: {"SEE": SEE, "CALLS": CALLS}[use[1]].replace("NAME", use[2]), CLASSES)
        self.write("classes.cc", text)
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                self.run_program([harness.program("rdb-clang++"), "-g", "-w", level,
                                  *(["-mavx", "-DVECTOR=32"] if avx else ["-DVECTOR=16"]),
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
        self.write("indirect.c", harness.program_text(__file__, "program_calls/indirect.c"))
        self.run_program([harness.program("rdb-clang"), "-g", "-O0", "-fno-builtin", "-o", "prog", "indirect.c"], status=0)
        self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog", status=3)
        replayed = self.rdb("replay", self.path("trace"), status=3)
        self.assertEqual(replayed.out, "length 3\n", f"\n{replayed}")
        self.assertIn("or an indirect one (ifunc); this region is not run any more", replayed.err)


if __name__ == "__main__":
    harness.main()
