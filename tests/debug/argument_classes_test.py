# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions see values of every class: whatever a parameter, a local or a global variable can be in C and C++. The oracle
is the same source with its regions compiled in. Without optimisation the output is the same, line by line; with it lines
may be missing (a value is gone), but none may be wrong, extra or elsewhere. Every recording has hashes of memory and
registers, which the replay checks."""
import os
import re

import harness

C_CLASSES = harness.program_text(__file__, "argument_classes/classes.c")

CXX_CLASSES = harness.program_text(__file__, "argument_classes/classes.cc")

LEVELS = ("-O0", "-O2")


class ArgumentClasses(harness.TestCase):
    default_timeout = 120

    def outputs(self, name, text, level):
        """What the program prints with its regions compiled in, and what its replay with regions prints."""
        plus = "++" if name.endswith(".cc") else ""
        flags = [level, "-w", "-g", "-mavx2", *(["-std=c++20"] if plus else [])]
        self.write(name, text)
        self.run_program(["/bin/rm", "-rf", "prog", "prog.rdb", self.path("trace")])
        self.run_program([f"/usr/bin/clang{plus}-22", *flags, "-DRDB_INLINE",
                          "-I" + os.path.join(harness.SOURCE, "runtime-libs", "include"),
                          name, "-o", "inline", "-lm"], status=0)
        inline = self.run_program([self.path("inline")])
        self.run_program([harness.program("rdb-clang" + plus), *flags, name, "-o", "prog", "-lm"], status=0)
        recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog", status=inline.status)
        replayed = self.rdb("replay", "--stats", self.path("trace"), status=inline.status)
        self.assertTrue(set(recorded.out.splitlines()) < set(inline.out.splitlines()))
        return inline.out.splitlines(), recorded.out.splitlines(), replayed

    def check(self, name, text, least, shown=()):
        """`shown`: lines that must be there with optimisation, too."""
        for level in LEVELS:
            with self.subTest(level):
                expected, program, replayed = self.outputs(name, text, level)
                got = replayed.out.splitlines()
                if level == "-O0":
                    self.assertEqual(got, expected, replayed.err)
                rest = iter(expected)
                wrong = [line for line in got if not any(line == other for other in rest)]
                self.assertEqual(wrong, [], f"\n{replayed}\nexpected among\n" + "\n".join(expected))
                self.assertEqual([line for line in got if line in program], program)
                self.assertGreaterEqual(len(got) - len(program), least[level], f"lines of regions\n{replayed}")
                for line in shown:
                    self.assertIn(line, got)
                self.check_reasons(name, replayed.err)
                # Those that could not run in place have a second chance.
                twins = self.rdb("replay", "--twin=auto", self.path("trace"), status=replayed.status).out.splitlines()
                rest = iter(expected)
                wrong = [line for line in twins if not any(line == other for other in rest)]
                self.assertEqual(wrong, [], "\nexpected among\n" + "\n".join(expected))
                self.assertGreaterEqual(len(twins), len(got))

    def check_reasons(self, name, messages):
        """A region that did not run has a reason, which the user is told."""
        inspected = self.rdb("inspect", self.path("prog"), status=0).out
        rows = re.findall(rf"^{name}:(\d+) +(\d+) +(\d+) ", messages, re.M)
        self.assertGreaterEqual(len(rows), 10, messages)
        for line, hits, skipped in rows:
            lost = re.search(rf"^{name}:{line}-\d+ in .*: lost, \w+", inspected, re.M)
            if int(skipped) != 0:
                self.assertRegex(messages, rf"{name}:{line}: not run at time \d+: .* is unavailable there \(.+\)")
            elif int(hits) == 0:
                self.assertTrue(lost, f"{name}:{line} never ran\n{inspected}\n{messages}")

    def test_c(self):
        self.check("classes.c", C_CLASSES, {"-O0": 13, "-O2": 5})

    def test_cxx(self):
        self.check("classes.cc", CXX_CLASSES, {"-O0": 13, "-O2": 5},
                   ("grow 2 to 4, area 96, x 2", "closure 3 1 2 word", "closure 7 2 2 word", "for bread 3 3", "for milk 1 4"))


if __name__ == "__main__":
    harness.main()
