# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug code sees what the source says. Its oracle is the same source with its regions compiled in: without
optimisation the output is the same; with it, lines may be missing, but none may be wrong, extra or elsewhere."""
import os
import re
import unittest

from region_programs import PROGRAMS
from toolchain import BUILD, CLANG, CLANGXX, ORACLE, RDB_CLANG, RDB_CLANGXX, SOURCE, CompilerTest, first_not_in_order


NAMES = ("basics.c", "objects.cc", "shared.c", "debug_statics.c", "control.c", "paths.c", "stale_statics.c",
         "vla_bits_union.c", "shared_objects.cc", "overwritten.c", "joined.c", "shrunk.c",
         "left_out.c", "simplified.c", "order.c", "registers.c", "dropped.c", "guarded.cc", "pointed_to.cc", "taken_apart.c",
         "no_code.c", "started.cc", "exact.cc", "bypassed.c", "moved_calls.c")


class Values(CompilerTest):
    def outputs(self, name, flags):
        path = os.path.join(PROGRAMS, name)
        plain, ours = (CLANGXX, RDB_CLANGXX) if name.endswith(".cc") else (CLANG, RDB_CLANG)
        include = os.path.join(SOURCE, "runtime-libs", "include")
        self.run_command([plain, *flags, "-w", "-DDEBUG", "-DRDB_INLINE", "-I" + include, path, "-o", "inline"])
        self.run_command([ours, *flags, path, "-o", "prog"])
        expected = self.run_command(["./inline"]).stdout.replace("inline", "prog")
        got = self.run_command(["/usr/bin/env", "LD_PRELOAD=" + ORACLE, "RDB_ORACLE_BUNDLE=prog.rdb", "./prog"]).stdout
        return expected.splitlines(), got.splitlines()

    def test_without_optimisation_everything_is_there(self):
        for name in NAMES:
            expected, got = self.outputs(name, ["-O0"])
            self.assertEqual(expected, got, name)

    def test_with_optimisation_nothing_is_wrong(self):
        for name in (*NAMES, "stale_memory.c"):
            for level in ("-O1", "-O2", "-O3", "-Os"):
                expected, got = self.outputs(name, [level])
                wrong = first_not_in_order(got, expected)
                self.assertIsNone(wrong, "%s %s: %r\nexpected among:\n%s" % (name, level, wrong, "\n".join(expected)))

    def test_what_others_change_is_there(self):
        for level in ("-O1", "-O2", "-O3", "-Os"):
            expected, got = self.outputs("pointed_to.cc", [level])
            self.assertEqual(expected, got, level)

    def test_what_is_gone_does_not_matter_to_those_who_do_not_read_it(self):
        for level in ("-O1", "-O2", "-O3", "-Os"):
            expected, got = self.outputs("taken_apart.c", [level])
            for line in ("data 5 101 8", "rela 134 24", "begin 4 0", "inside 1 room 9 0", "one 7"):
                self.assertIn(line, expected)
                self.assertIn(line, got, level)

    def test_values_that_only_debug_code_looks_at(self):
        for level in ("-O1", "-O2", "-O3"):
            expected, got = self.outputs("exact.cc", [level])
            for line in ("last 40", "price of bread: 3 of 3", "price of milk: 1 of 4", "at 3"):
                self.assertIn(line, expected)
                self.assertIn(line, got, level)

    def test_whatever_the_order_of_memory(self):
        """The compiler's own objects lie elsewhere without the allocator's caches."""
        path = os.path.join(PROGRAMS, "simplified.c")
        expected, _ = self.outputs("simplified.c", ["-O1"])
        for caches in (0, 2):
            self.run_command(["/usr/bin/env", f"GLIBC_TUNABLES=glibc.malloc.tcache_count={caches}", RDB_CLANG, "-O1", path,
                              "-o", "prog"])
            got = self.run_command(["/usr/bin/env", "LD_PRELOAD=" + ORACLE, "RDB_ORACLE_BUNDLE=prog.rdb", "./prog"]).stdout
            self.assertIsNone(first_not_in_order(got.splitlines(), expected), caches)

    def test_a_region_that_misses_hits_says_so(self):
        for level in ("-O1", "-O2", "-O3", "-Os"):
            vectorised = ("turns",) if level != "-O1" else ()
            for name, functions in (("dropped.c",
                                     ("clamp", "clamp_here", "square", "fill", "tail", "again", "unswitched", "swept",
                                      *vectorised)),
                                    ("started.cc", ("Pair::Pair(int)", "Plain::~Plain()"))):
                compiler = RDB_CLANGXX if name.endswith(".cc") else RDB_CLANG
                self.run_command([compiler, level, "-w", os.path.join(PROGRAMS, name), "-o", "prog"])
                inspected = self.run_command([os.path.join(BUILD, "bin", "rdb"), "inspect", "prog.rdb"]).stdout
                for function in functions:
                    found = re.search(rf"{name}:\d+-\d+ in {re.escape(function)}: (\w+)", inspected, re.M)
                    self.assertIn(found and found[1], ("incomplete", "lost"), f"{level} {function}\n{inspected}")
                if name == "dropped.c":
                    self.assertRegex(inspected, r"dropped\.c:\d+-\d+ in with_effect: complete", level)


if __name__ == "__main__":
    unittest.main()
