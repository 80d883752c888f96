# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program with regions, built by rdb-clang, is byte for byte the program that clang makes of the source without them."""
import os
import re
import subprocess
import unittest

from region_programs import PROGRAMS
from toolchain import CLANG, CLANGXX, RDB_CLANG, RDB_CLANGXX, SOURCE, CompilerTest, without_regions


FLAGS = [
    ["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O0", "-g"], ["-O2", "-g"], ["-O2", "-fPIC"], ["-O1", "-fno-pic", "-no-pie"],
    ["-O2", "-ffunction-sections", "-Wl,--gc-sections"], ["-O1", "-fstack-protector-strong"],
    ["-O1", "-fsanitize=undefined", "-fsanitize-trap=undefined"],
]


def table(path):
    """Sections, symbols and relocations of an object, without what rdb-clang appends."""
    def readelf(option):
        return subprocess.run(["readelf", option, path], capture_output=True, text=True, check=True).stdout
    sections = [re.sub(r"\s+", " ", line) for line in readelf("-SW").splitlines()
                if re.match(r"\s*\[", line) and ".rdb" not in line]
    # Where a table lies in the file means nothing, and the tables behind the code move.
    sections = [re.sub(r"( [A-Z]+ [0-9a-f]{16}) [0-9a-f]{6}", r"\1", line) for line in sections]
    relocations = [block for block in readelf("-rW").split("\n\n") if ".rdb" not in block]
    return sections, [re.sub(r"offset 0x[0-9a-f]+", "", block).strip() for block in relocations], readelf("-sW")


class Identity(CompilerTest):
    def check(self, name, flags):
        with open(os.path.join(PROGRAMS, name)) as file:
            edited = file.read()
        cxx = name.endswith(".cc")
        plain, ours = (CLANGXX, RDB_CLANGXX) if cxx else (CLANG, RDB_CLANG)
        compile_flags = [flag for flag in flags if not flag.startswith("-Wl,") and flag != "-no-pie"]
        results = []
        for compiler, text in ((plain, without_regions(edited)), (ours, edited)):
            self.write(name, text)
            self.run_command([compiler, *compile_flags, "-c", name, "-o", "out.o"])
            objects = table(os.path.join(self.dir, "out.o"))
            self.run_command([compiler, *flags, "out.o", "-o", "prog"])
            results.append((objects, self.read("prog")))
        self.assertEqual(results[0][0], results[1][0], "%s %s: objects differ" % (name, flags))
        self.assertEqual(results[0][1], results[1][1], "%s %s: programs differ" % (name, flags))

    def test_c(self):
        for flags in FLAGS:
            self.check("basics.c", flags)

    def test_cxx(self):
        for flags in FLAGS[::2]:  # a compile of C++ takes its time; identity_test.py has the others
            self.check("objects.cc", flags)

    def test_linkers(self):
        for linker in ("lld", "gold"):
            self.check("basics.c", ["-O1", "-fuse-ld=" + linker])


if __name__ == "__main__":
    unittest.main()
