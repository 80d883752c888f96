# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug regions in a replay print what they would print as part of the program, and disturb nothing: the recording is of
the program as it was before the regions, with hashes of its memory and registers, and the replay checks them."""
import os
import re
import unittest

from toolchain import BUILD, CLANG, CLANGXX, RDB_CLANG, RDB_CLANGXX, SOURCE, CompilerTest
import region_programs
from region_programs import PROGRAMS, strip_regions

RDB = os.path.join(BUILD, "bin", "rdb")
HEADER = os.path.join(SOURCE, "runtime-libs", "include")

# Variables shared by regions cannot be plain code in braces; the order of threads is a run's own.
NOT_COMPARED = {"recursion.c", "threads.c"}
# To compile, that is: only with RDB_FULL=1.
SLOW = {"modern.cc", "streams.cc"}


def oracle(text):
    """The program with its regions as plain code that prints to stderr, to tell their output from the program's. A region
    in a function that another region calls does not run: in a replay it belongs to the recorded run alone."""
    lines, inside = ["static int rdb_oracle_nested;\n"], False
    for line in text.splitlines(keepends=True):
        word = line.strip()
        inside = inside or word.startswith("rdb_begin")
        if inside:
            line = re.sub(r"(std::|__builtin_)?printf\(", "fprintf(stderr, ", line).replace("std::cout", "std::cerr")
        if word.startswith("rdb_end"):
            inside = False
        if word == "rdb_begin":
            line += "if (!rdb_oracle_nested) { rdb_oracle_nested = 1;\n"
        elif word == "rdb_end":
            line = "rdb_oracle_nested = 0; }\n" + line
        lines.append(line)
    return "".join(lines)


class RegionsInReplay(CompilerTest):
    def check(self, name):
        with open(os.path.join(PROGRAMS, name)) as file:
            text = file.read()
        cxx = name.endswith(".cc")
        plain, ours = (CLANGXX, RDB_CLANGXX) if cxx else (CLANG, RDB_CLANG)
        flags = ["-O0", "-pthread", "-DDEBUG"] + (["-std=c++20"] if cxx else [])
        self.write(name, oracle(text))
        if name not in NOT_COMPARED:
            self.run_command([plain, *flags, "-DRDB_INLINE", f"-I{HEADER}", name, "-o", "prog"])
            expected = self.run_command(["./prog"], status=None).stderr

        self.write(name, strip_regions(text))
        self.run_command([plain, *flags, name, "-o", "prog"])
        recorded = self.run_command([RDB, "record", "--checksum=calls", "-q", "-o", "trace", "--", "./prog"], status=None)
        self.write(name, text)
        self.run_command([ours, *flags, name, "-o", "prog"])
        bare = self.run_command([RDB, "replay", "--no-module", "trace"], status=None)
        self.assertEqual((bare.stdout, bare.returncode), (recorded.stdout, recorded.returncode))
        with_regions = self.run_command([RDB, "replay", "--debug-output", "debug.txt", "trace"], status=None)
        self.assertEqual((with_regions.stdout, with_regions.returncode), (recorded.stdout, recorded.returncode),
                         with_regions.stderr)
        found = self.read("debug.txt").decode()
        if name not in NOT_COMPARED:
            self.assertEqual(found, expected)
        else:
            self.assertNotEqual(found, "")


def add_tests():
    for name in region_programs.names():
        if name in SLOW and os.environ.get("RDB_FULL") != "1":
            continue

        def test(self, name=name):
            self.check(name)
        setattr(RegionsInReplay, "test_" + name.replace(".", "_"), test)


add_tests()

if __name__ == "__main__":
    unittest.main()
