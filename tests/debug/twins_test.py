# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions run in twins of their functions: what they show is what the source says, in its order, and what cannot be verified is
not shown. The oracle is the same program, without optimisation and with its debug code compiled in. The recorded program is
not touched: with --checksum=calls a replay compares all memory at every system call."""
import os
import re

import harness

LEVELS = ["-O1", "-O2", "-O3", "-Os"]


def is_part(shown, expected):
    """Whether these lines stand in that order among the expected ones."""
    left = iter(expected)
    return all(line in left for line in shown)


@harness.needs_compiler
class Twins(harness.TestCase):
    def program(self, name):
        return os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "in_twins", name)

    def lines(self, out):
        return [line for line in out.splitlines() if line.startswith("r ")]

    def expected(self, name):
        include = os.path.join(harness.SOURCE, "runtime-libs", "include")
        plus = "++" if name.endswith(".cc") else ""
        self.run_program([f"/usr/bin/clang{plus}-22", "-O0", "-w", "-DRDB_INLINE", "-I" + include, self.program(name), "-o", "inline"],
                         status=0)
        return self.lines(self.run_program(["./inline"], status=0).out)

    def build(self, name, level):
        plus = "++" if name.endswith(".cc") else ""
        self.run_program([harness.program("rdb-clang" + plus), level, "-w", "-Wno-rdb-lost-region", self.program(name), "-o", "prog"],
                         status=0)
        trace = self.path("trace" + level)
        self.rdb("record", "-q", "--checksum=calls", "-o", trace, "./prog", status=0)
        return trace

    def replay(self, trace, use, *options):
        result = self.rdb("replay", "--twin", use, *options, trace, status=0)
        self.assertNotRegex(result.err, harness.WRONG_REPLAY)
        return self.lines(result.out), result

    def test_calls_of_every_shape(self):
        """Those that jump away by longjmp, main and what it calls in a loop of its own make system calls; all others are shown."""
        expected = self.expected("shapes.c")
        for level in LEVELS:
            trace = self.build("shapes.c", level)
            for use in "always", "auto":
                shown, result = self.replay(trace, use)
                self.assertTrue(is_part(shown, expected), f"{level} {use}: {shown}\n{result}")
                missing = [line for line in expected if line not in shown]
                self.assertEqual([line for line in missing if not re.match(r"r (jumped|by_value) ", line)], [],
                                 f"{level} {use}\n{result}")

    def test_objects(self):
        """The unwinder goes through twins' frames. It makes a system call when the first exception is thrown."""
        expected = self.expected("objects.cc")
        for level in LEVELS:
            trace = self.build("objects.cc", level)
            shown, result = self.replay(trace, "auto")
            self.assertTrue(is_part(shown, expected), f"{level}: {shown}\n{result}")
            self.assertEqual([line for line in expected if line not in shown and "caught" not in line], [], f"{level}\n{result}")

    def test_nothing_is_shown_that_may_be_stale(self):
        expected = self.expected("holes.c")
        for level in LEVELS:
            trace = self.build("holes.c", level)
            shown, result = self.replay(trace, "always")
            self.assertTrue(is_part(shown, expected), f"{level}: {shown}\n{result}")
            # Of what is not shown, the user hears.
            self.assertRegex(result.err, r"rdb: \d+ of \d+ calls of \w+ are not shown, since they could not be verified \(")

    def test_never(self):
        trace = self.build("shapes.c", "-O2")
        shown, result = self.replay(trace, "never")
        self.assertRegex(result.err, r"not run at time \d+: \w+ is unavailable there")
        self.assertEqual(shown, self.lines(self.rdb("replay", trace, status=0).out))  # as it is without the option
        wrong = self.rdb("replay", "--twin", "perhaps", trace)
        self.assertEqual(wrong.status, 2)
        self.assertRegex(wrong.err, r"\Ardb: replay: --twin[^\n]*\n\Z")

    def test_a_limit(self):
        trace = self.build("shapes.c", "-O2")
        shown, result = self.replay(trace, "always", "--twin-limit", "10")
        self.assertEqual(shown, [])
        self.assertRegex(result.err, r"took more than 10 instructions")

    def test_selection(self):
        trace = self.build("shapes.c", "-O2")
        shown, _ = self.replay(trace, "always", "--max-hits", "1")
        self.assertIn("r large 0 1", shown)
        self.assertNotIn("r large 1 2", shown)

    def test_a_damaged_twin(self):
        trace = self.build("shapes.c", "-O2")
        folder = self.path("prog.rdb/twins")
        (name,) = os.listdir(folder)
        with open(os.path.join(folder, name), "r+b") as file:
            file.truncate(1000)
        result = self.rdb("replay", "--twin", "always", trace)
        self.assertEqual(result.status, 2, result)
        self.assertRegex(result.err, rf"(?m)^rdb: [^\n]*{re.escape(name)}[^\n]*$")


if __name__ == "__main__":
    harness.main()
