# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random values (see random_values.py) of two programs: the calculator of demo-bugs, and rdb's own reader of descriptors."""
import os
import unittest

import harness
from toolchain import CLANGXX, RDB_CLANG, SOURCE
import random_values

READER = harness.program_text(__file__, "random_values/reader.cc")


class Programs(random_values.RandomValues):
    def test_a_calculator(self):
        folder = os.path.join(SOURCE, "demo-bugs", "calc")
        files = [os.path.join(folder, name) for name in ("translate.c", "machine.c", "number.c", "main.c")]
        for source in files[:3]:
            for level in ("-O0", "-O2"):
                with self.subTest(source=source, level=level):
                    others = [other for other in files if other != source]
                    self.check(source, others, [os.path.join(folder, "powers.calc")], level, 60, 1, ["-I" + folder])

    def test_a_reader_of_descriptors(self):
        folder = os.path.join(SOURCE, "descriptors")
        self.write("reader.cc", READER)
        objects = []
        base = os.path.join("..", "rdbtool", "base")
        for name in ("fields", "inspect", "read", "sha256", "words", "write", os.path.join(base, "visible_text")):
            objects.append(os.path.basename(name) + ".o")
            self.run_command([CLANGXX, "-std=c++20", "-O1", "-w", "-I" + SOURCE, "-c", os.path.join(folder, name + ".cc")])
        self.run_command([CLANGXX, "-std=c++20", "-w", "-I" + SOURCE, "-c", "reader.cc"])
        self.write("small.c",
                   '#include <rdb/rdb.h>\nint main(int n, char **v) {\n  rdb_begin\n    __builtin_printf("%d", n);\n  '
                   'rdb_end\n  return 0;\n}\n')
        self.run_command([RDB_CLANG, "small.c", "-o", "small"])
        for name, level in (("read", "-O0"), ("inspect", "-O2")):
            with self.subTest(file=name, level=level):
                others = [other for other in objects if other != name + ".o"] + ["reader.o"]
                self.check(os.path.join(folder, name + ".cc"), others, ["small.rdb/descriptors"], level, 60, 1,
                           ["-std=c++20", "-I" + SOURCE])


if __name__ == "__main__":
    unittest.main()
