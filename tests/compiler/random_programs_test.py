# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs with regions (random_c_program.py and its relatives): what debug code prints is what the same source
prints with its regions compiled in. Without optimisation all of it; with it lines may be missing, but none may be wrong,
extra or elsewhere; and a region that says it is complete is reached as often as the source says.

    random_programs_test.py [--full]           a fixed choice of seeds; with --full many more
    random_programs_test.py --survey FIRST LAST    says of each seed and level what is wrong, and fails on nothing
"""
import collections
import os
import re
import subprocess
import sys
import unittest

import harness
import random_c_program
import random_choices_program
import random_cxx_program
import random_kept_program
import random_wide_program
from toolchain import BUILD, CLANG, CLANGXX, ORACLE, RDB_CLANG, RDB_CLANGXX, SOURCE, CompilerTest, first_not_in_order

FULL = harness.take_flag("--full")
FLAGS = ["-w", "-ftrivial-auto-var-init=zero"]
OPTIMISED = ("-O1", "-O2", "-O3", "-Os")
MOST_OUTPUT = 300_000  # a program that prints more says nothing new

# From these seeds on the programs are those of the other modules.
FIRST_WIDE = 10_000
FIRST_CXX = 20_000
FIRST_KEPT = 30_000
FIRST_CHOICES = 40_000

# 13: a value that is made of itself, in code that is never run. The next three: a copy that callers leave out, a sum whose
# parts wrap around, and a store that code generation moves ahead of a label in a loop. Then a frame that is set up late;
# regions that are passed by where their loop is left at once, or go with it; values with many ways to what they are
# computed from; an unrolled loop, switch arms that became one, labels of two ways in one block and of two turns; C++;
# variables that others change; and choices: a value in one bit, comparisons that are turned around or needed under
# conditions, a block that is cut in two.
SOME = (*range(8), 13, 147, 178, 249, 293, 117, 201, *(FIRST_WIDE + seed for seed in (8, 10, 17, 79, 96)),
        *range(FIRST_CXX, FIRST_CXX + 3),
        *range(FIRST_KEPT, FIRST_KEPT + 3), FIRST_KEPT + 52, *(FIRST_CHOICES + seed for seed in (64, 128, 221, 283, 295, 327)))
MANY = (*range(260), *range(FIRST_WIDE, FIRST_WIDE + 100), *range(FIRST_CXX, FIRST_CXX + 18), *range(FIRST_KEPT, FIRST_KEPT + 60),
        *range(FIRST_CHOICES, FIRST_CHOICES + 330))
REPEATED = FIRST_WIDE + 4  # several values become one in it


def generate(seed):
    if seed >= FIRST_CHOICES:
        return random_choices_program.generate(seed - FIRST_CHOICES)
    if seed >= FIRST_KEPT:
        return random_kept_program.generate(seed - FIRST_KEPT)
    if seed >= FIRST_CXX:
        return random_cxx_program.generate(seed - FIRST_CXX)
    return random_wide_program.generate(seed - FIRST_WIDE) if seed >= FIRST_WIDE else random_c_program.generate(seed)


def compilers(seed):
    """The name of the source; clang and rdb-clang, with flags."""
    if FIRST_CXX <= seed < FIRST_KEPT:
        return "p.cc", [CLANGXX, *FLAGS], [RDB_CLANGXX, *FLAGS]
    flags = [*FLAGS, "-fexceptions"] if seed >= FIRST_KEPT else FLAGS
    return "p.c", [CLANG, *flags], [RDB_CLANG, *flags]


def reproduction(seed):
    """The command that prints the program."""
    if seed >= FIRST_CHOICES:
        return f"tests/compiler/random_choices_program.py {seed - FIRST_CHOICES}"
    if seed >= FIRST_KEPT:
        return f"tests/compiler/random_kept_program.py {seed - FIRST_KEPT}"
    if seed >= FIRST_CXX:
        return f"tests/compiler/random_cxx_program.py {seed - FIRST_CXX}"
    if seed >= FIRST_WIDE:
        return f"tests/compiler/random_wide_program.py {seed - FIRST_WIDE}"
    return f"tests/compiler/random_c_program.py {seed}"


class RandomPrograms(CompilerTest):
    def expected(self, seed):
        """What the program prints with its regions compiled in; None if that is too much."""
        name, clang, _ = compilers(seed)
        self.write(name, generate(seed))
        include = os.path.join(SOURCE, "runtime-libs", "include")
        self.run_command([*clang, "-O1", "-DRDB_INLINE", "-I" + include, name, "-o", "inline"])
        out = self.run_command(["./inline"]).stdout
        return out.splitlines() if len(out) <= MOST_OUTPUT else None

    def shown(self, seed, level):
        name, _, rdb_clang = compilers(seed)
        self.run_command([*rdb_clang, level, name, "-o", "prog"])
        return self.run_command(["/usr/bin/env", "LD_PRELOAD=" + ORACLE, "RDB_ORACLE_BUNDLE=prog.rdb", "RDB_ORACLE_HITS=hits",
                                 "./prog"]).stdout.splitlines()

    def miscounted(self, seed, expected):
        """The first region that says it is complete and was not reached as often as it should, with both numbers."""
        name = compilers(seed)[0]
        inspected = self.run_command([os.path.join(BUILD, "bin", "rdb"), "inspect", "prog.rdb"]).stdout
        complete = {int(line) for line in re.findall(rf"^{re.escape(name)}:(\d+)-\d+ in .*: complete$", inspected, re.M)}
        hits = {int(line): int(count) for line, count in (row.split() for row in self.read("hits").decode().splitlines())}
        should = collections.Counter(line.split()[0] for line in expected)
        lines = [line.strip() for line in self.read(name).decode().splitlines()]
        for number, line in enumerate(lines):  # the line of rdb_begin: the one before
            region = re.match(r'printf\("(R\d+) ', line)
            prints_once = region and lines[number - 1] == "rdb_begin" and lines[number + 1] == "rdb_end"
            if prints_once and number in complete and hits.get(number, 0) != should[region[1]]:
                return f"{region[1]} reached {hits.get(number, 0)} of {should[region[1]]} times"
        return None

    def wrong(self, seed):
        """The first line that is wrong at each level, with optimisation."""
        found = {}
        expected = self.expected(seed)
        for level in OPTIMISED if expected is not None else ():
            line = first_not_in_order(self.shown(seed, level), expected) or self.miscounted(seed, expected)
            if line is not None:
                found[level] = line
        return found

    def check_optimised(self, seeds):
        for seed in seeds:
            with self.subTest(seed=seed):
                self.assertFalse(self.wrong(seed), reproduction(seed))

    def check_unoptimised(self, seeds):
        for seed in seeds:
            expected = self.expected(seed)
            if expected is not None:
                with self.subTest(seed=seed):
                    self.assertEqual(self.shown(seed, "-O0"), expected, reproduction(seed))

    def test_without_optimisation(self):
        for first, some, many in ((0, 6, 60), (FIRST_WIDE, 4, 60), (FIRST_CXX, 1, 18)):
            self.check_unoptimised(range(first, first + (many if FULL else some)))

    def test_with_optimisation(self):
        self.check_optimised(MANY if FULL else SOME)

    def test_the_same_each_time(self):
        """Addresses differ from run to run; what is told of a region must not depend on them."""
        name, _, rdb_clang = compilers(REPEATED)
        self.write(name, generate(REPEATED))
        objects = set()
        for _ in range(4):
            self.run_command([*rdb_clang, "-Os", "-c", name, "-o", "out.o"])
            objects.add(self.read("out.o"))
        self.assertEqual(len(objects), 1, reproduction(REPEATED))


def survey(first, last):
    for seed in range(first, last):
        test = RandomPrograms("test_with_optimisation")
        test.setUp()
        try:
            print(seed, test.wrong(seed) or "", flush=True)
        except (AssertionError, subprocess.SubprocessError) as failure:
            print(seed, "failed:", str(failure)[:400], flush=True)
        test.doCleanups()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--survey"]:
        survey(int(sys.argv[2]), int(sys.argv[3]))
    else:
        unittest.main()
