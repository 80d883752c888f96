# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program that rdb-clang makes from a source with regions is the one that clang makes from the source before they
were written: whole file, for many programs and flags, with every linker. Each program meets some of the combinations of
level and flags: 5, or as many as RDB_COMBINATIONS says (of 45), with one linker, or with all if RDB_LINKERS is "all".
With --full each meets all of them, with every linker."""
import os
import re
import unittest

import elf_sections
import harness
import region_programs
from region_programs import PROGRAMS, strip_regions
from toolchain import CLANG, CLANGXX, RDB_CLANG, RDB_CLANGXX, CompilerTest

LEVELS = ["-O0", "-O1", "-O2", "-O3", "-Os"]
EXTRAS = [
    [], ["-g"], ["-fPIC"], ["-fno-pic", "-no-pie"], ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"],
    ["-fstack-protector-strong"], ["-fsanitize=undefined"], ["-g", "-fno-omit-frame-pointer"], ["-gdwarf-4", "-DDEBUG"],
]
LINKERS = ["bfd", "gold", "/usr/bin/ld.lld-22"]
FULL = harness.take_flag("--full")
COUNT = int(os.environ.get("RDB_COMBINATIONS", "45" if FULL else "5"))
ALL_LINKERS = os.environ.get("RDB_LINKERS", "all" if FULL else "one") == "all"


def combinations(number):
    """(flags, linkers) pairs for the program of that number."""
    everything = [[level] + extra for level in LEVELS for extra in EXTRAS]
    # Strides that share no factor with the lists' lengths meet every level, extra and linker soon.
    for i in range(min(COUNT, len(everything))):
        linkers = LINKERS if ALL_LINKERS else [LINKERS[(number + i) % len(LINKERS)]]
        yield everything[(number * 11 + i * 31) % len(everything)], linkers


class Identity(CompilerTest):
    def compile(self, compiler, flags, name, text):
        """The object of the text, under its own name."""
        self.write(name, text)
        standard = ["-std=c++20"] if name.endswith(".cc") else []
        compile_flags = [f for f in flags if not f.startswith("-Wl,") and f != "-no-pie"]
        self.run_command([compiler, *standard, *compile_flags, "-c", name, "-o", "prog.o"])
        return self.read("prog.o")

    def link(self, compiler, flags, linker, prog_object):
        with open(os.path.join(self.dir, "prog.o"), "wb") as out:
            out.write(prog_object)
        self.run_command([compiler, *flags, f"-fuse-ld={linker}", "prog.o", "-pthread", "-o", "prog"])
        return self.read("prog")

    def check(self, name, number):
        with open(os.path.join(PROGRAMS, name)) as file:
            text = file.read()
        stripped = strip_regions(text)
        self.assertNotIn("rdb", stripped)
        plain, ours = (CLANGXX, RDB_CLANGXX) if name.endswith(".cc") else (CLANG, RDB_CLANG)
        for flags, linkers in combinations(number):
            with self.subTest(program=name, flags=" ".join(flags)):
                expected_object = self.compile(plain, flags, name, stripped)
                found_object = self.compile(ours, flags, name, text)
                self.assertEqual(elf_sections.differences(expected_object, found_object), [])
                for linker in linkers:
                    expected = self.link(plain, flags, linker, expected_object)
                    found = self.link(ours, flags, linker, found_object)
                    self.assertTrue(expected == found, f"the programs of {linker} differ")
                    self.check_bundle(text, flags)

    def check_bundle(self, text, flags):
        """Every region is described; at -O0 each has its place and all its values."""
        with open(os.path.join(self.dir, "prog.rdb", "descriptors")) as file:
            records = [line.split(" ") for line in file]
        regions = [r for r in records if r[0] == "region"]
        expected = len(re.findall(r"^\s*rdb_begin$", text, flags=re.M))
        self.assertGreaterEqual(len({r[4] for r in regions}), expected if "-O0" in flags else 0)
        if "-O0" in flags:
            self.assertEqual([r for r in regions if r[6] not in ("complete", "unused")], [])
            self.assertEqual([r for r in records if r[0] == "argument" and "unavailable" in r], [])


def add_tests():
    for number, name in enumerate(region_programs.names()):
        def test(self, name=name, number=number):
            self.check(name, number)
        setattr(Identity, "test_" + name.replace(".", "_"), test)


add_tests()

if __name__ == "__main__":
    unittest.main()
