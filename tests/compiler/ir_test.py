# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the extractor and placement make of the compiler's intermediate code: the programs of ir/ say it themselves, in
comments for FileCheck, of what LLVM shows after each pass."""
import os
import re
import subprocess
import unittest

from toolchain import RDB_CLANG, RDB_CLANGXX, SOURCE, CompilerTest

PROGRAMS = os.path.join(SOURCE, "tests", "compiler", "ir")
FILECHECK = "/usr/lib/llvm-22/bin/FileCheck"


class Ir(CompilerTest):
    def check(self, name):
        path = os.path.join(PROGRAMS, name)
        with open(path) as file:
            options = re.search(r"// OPTIONS: (.*)", file.read()).group(1).split()
        compiler = RDB_CLANGXX if name.endswith(".cc") else RDB_CLANG
        shown = self.run_command([compiler, *options, "-mllvm", "-print-after-all", "-c", path, "-o", "out.o"]).stderr
        done = subprocess.run([FILECHECK, path], input=shown, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


def add_tests():
    for name in sorted(os.listdir(PROGRAMS)):
        def test(self, name=name):
            self.check(name)
        setattr(Ir, "test_" + name.replace(".", "_"), test)


add_tests()

if __name__ == "__main__":
    unittest.main()
