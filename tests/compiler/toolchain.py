# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the compiler share: where the compilers are, and running them in a folder of their own."""
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, SOURCE

RDB_CLANG = os.path.join(BUILD, "bin", "rdb-clang")
RDB_CLANGXX = os.path.join(BUILD, "bin", "rdb-clang++")
CLANG = "/usr/bin/clang-22"
CLANGXX = "/usr/bin/clang++-22"
# Runs the debug code of a bundle natively, preloaded into the program.
ORACLE = os.path.join(BUILD, "lib", "librdb_oracle.so")


def without_regions(text):
    """The source before its regions were written: for tests, by simple rules of its own."""
    lines, inside, result = text.splitlines(keepends=True), False, []
    for line in lines:
        word = line.strip()
        if word in ("rdb_begin", "rdb_begin_globals"):
            inside = True
        elif word in ("rdb_end", "rdb_end_globals"):
            inside = False
        elif not inside and "rdb/rdb.h" not in line:
            result.append(line)
    text = "".join(result)
    return text.replace("#ifdef DEBUG\n#endif\n", "")


def first_not_in_order(lines, expected):
    """The first of the lines that does not come in its order among the expected ones."""
    rest = iter(expected)
    for line in lines:
        if not any(line == other for other in rest):
            return line
    return None


class CompilerTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="rdb-compiler-")
        self.addCleanup(shutil.rmtree, self.dir)

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(text)
        return path

    def read(self, name):
        with open(os.path.join(self.dir, name), "rb") as file:
            return file.read()

    def run_command(self, command, status=0, cwd=None):
        """Runs a command in the test's folder; the message of a failure is how to repeat it."""
        cwd = cwd or self.dir
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
        if status is not None and done.returncode != status:
            self.fail("cd %s && %s\nstatus %d, expected %d\n%s%s" % (
                cwd, " ".join(command), done.returncode, status, done.stdout, done.stderr))
        return done
