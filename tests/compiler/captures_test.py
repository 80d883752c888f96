# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions in lambdas that capture by default. What the program captures, anywhere in the lambda, debug code may use; and it sees
what the same code sees that is compiled in."""
import os
import unittest

from toolchain import CLANGXX, ORACLE, RDB_CLANGXX, SOURCE, CompilerTest

PROGRAM = os.path.join(SOURCE, "tests", "compiler", "programs", "captures.cc")
HEAD = "#include <cstdio>\n#include <rdb/rdb.h>\n"


class CapturesTest(CompilerTest):
    def outputs(self, flags):
        include = os.path.join(SOURCE, "runtime-libs", "include")
        self.run_command([CLANGXX, *flags, "-w", "-DRDB_INLINE", "-I" + include, PROGRAM, "-o", "inline"])
        self.run_command([RDB_CLANGXX, *flags, PROGRAM, "-o", "prog"])
        expected = self.run_command(["./inline"]).stdout
        got = self.run_command(["/usr/bin/env", "LD_PRELOAD=" + ORACLE, "RDB_ORACLE_BUNDLE=prog.rdb", "./prog"]).stdout
        return expected.splitlines(), got.splitlines()

    def test_values_without_optimisation(self):
        expected, got = self.outputs(["-O0", "-std=c++17"])
        self.assertEqual(len(expected), 17)
        self.assertEqual(expected, got)

    def test_values_with_optimisation(self):
        for flags in (["-O1"], ["-O2"], ["-O2", "-g"], ["-O3"]):
            expected, got = self.outputs(["-std=c++20", *flags])
            rest = iter(expected)
            for line in got:
                self.assertTrue(any(line == other for other in rest), "%s: %r is wrong or out of order" % (flags, line))
            # Closures that functions elsewhere are given stay as they are in the source.
            for line in expected:
                if line.startswith(("main", "again", "own", "copies", "changes")):
                    self.assertIn(line, got, flags)

    def refused(self, body, words):
        self.write("bad.cc", HEAD + body)
        done = self.run_command([RDB_CLANGXX, "-std=c++17", "-c", "bad.cc"], status=1)
        errors = [line for line in done.stderr.splitlines() if ": error: " in line]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertIn(words, errors[0])

    def test_what_the_program_does_not_capture_is_refused(self):
        later = "auto l = [&](int k) {\nrdb_begin\nstd::printf(\"%%d %%d\", hidden, n);\nrdb_end\nreturn k + n%s;\n};\n"
        self.refused("int f(int n) {\nint hidden = n;\n" + later % "" + "return l(n) + hidden;\n}\n", "does not capture 'hidden'")
        self.refused("template <int N> int f(int n) {\nint hidden = n;\n" + later % "" + "return l(n) + hidden;\n}\nint h() "
                                                                                         "{\nreturn f<1>(2);\n}\n",
                     "does not capture 'hidden'")
        self.refused("struct S {\nint m;\nint f(int n) {\nauto l = [&](int k) {\nrdb_begin\nstd::printf(\"%d\", m);\nrdb_end\n"
                     "return k + n;\n};\n"
                     "return l(n) + m;\n}\n};\nint h() {\nreturn S{3}.f(1);\n}\n", "does not capture 'this'")

    def test_instances_that_capture_different_variables_are_refused(self):
        self.refused("template <int N> int f(int a, int b) {\nauto l = [&](int k) {\nrdb_begin\nstd::printf(\"%d\", b);\n"
                     "rdb_end\n"
                     "if constexpr (N == 1)\nreturn a + b + k;\nelse\nreturn b + k;\n};\nreturn l(1);\n}\n"
                     "int h(int n) {\nreturn f<1>(n, 2) + f<2>(n, 2);\n}\n", "does not capture 'b' before the region")

    def test_a_template_without_instances(self):
        self.write("good.cc",
                   HEAD + "template <int N> int f(int n) {\nint hidden = n;\nauto l = [&](int k) {\nrdb_begin\n"
                          "std::printf(\"%d\", hidden);\n"
                   "rdb_end\nreturn k;\n};\nreturn l(n) + hidden;\n}\nint main() {}\n")
        self.run_command([RDB_CLANGXX, "-c", "good.cc"])


if __name__ == "__main__":
    unittest.main()
