# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Without regions rdb-clang is clang: the same files, the same messages, the same exit status."""
import os
import shutil
import subprocess
import tempfile
import unittest

import harness
from toolchain import CLANG, CLANGXX, RDB_CLANG, RDB_CLANGXX, CompilerTest

C_SOURCE = harness.program_text(__file__, "pass_through/source.c")

CXX_SOURCE = harness.program_text(__file__, "pass_through/source.cc")

FLAGS = [
    [], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-O2", "-g"], ["-O0", "-g3"], ["-O2", "-g", "-grecord-command-line"],
    ["-O2", "-fPIC"], ["-fno-pic"], ["-O2", "-ffunction-sections", "-fdata-sections"],
    ["-fstack-protector-strong"], ["-fsanitize=undefined"], ["-O2", "-march=x86-64-v3"],
    ["-O2", "-fno-discard-value-names"], ["-O1", "-mllvm", "-inline-threshold=10"],
    ["-fcoverage-mapping", "-fprofile-instr-generate"],
    ["-gdwarf-4", "-gz"], ["-O2", "-emit-llvm"], ["-S", "-O2"], ["-E"], ["-M"],
]


class PassThrough(CompilerTest):
    def compile_both(self, flags, plain, ours, name):
        """Runs both compilers in the same folder with the same command line and keeps their files apart."""
        results = []
        for compiler in (plain, ours):
            for stale in ("out", "out.d"):
                path = os.path.join(self.dir, stale)
                if os.path.exists(path):
                    os.remove(path)
            command = [compiler, *flags, *([] if {"-S", "-E", "-M"} & set(flags) else ["-c"]),
                       *([] if "-M" in flags else ["-MD", "-MF", "out.d"]), name, "-o", "out"]
            done = self.run_command(command)
            files = [self.read(f) for f in ("out", "out.d") if os.path.exists(os.path.join(self.dir, f))]
            results.append((command, done.stdout, done.stderr, files))
        self.assertEqual(results[0][1:], results[1][1:], "differs from clang's: " + " ".join(results[1][0]))

    def test_objects_and_side_outputs_are_clangs(self):
        self.write("part.h", "#define PART 3\n")
        self.write("one.c", C_SOURCE)
        self.write("two.cc", CXX_SOURCE)
        for flags in FLAGS:
            self.compile_both(flags, CLANG, RDB_CLANG, "one.c")
            self.compile_both(flags, CLANGXX, RDB_CLANGXX, "two.cc")

    def test_linked_programs_are_clangs(self):
        self.write("part.h", "#define PART 3\n")
        self.write("one.c", C_SOURCE)
        self.write("two.cc", CXX_SOURCE)
        for linker in ("bfd", "lld", "gold"):
            for compiler, source in ((0, "one.c"), (1, "two.cc")):
                outputs = []
                for both in ((CLANG, CLANGXX), (RDB_CLANG, RDB_CLANGXX)):
                    self.run_command([both[compiler], "-O1", "-g", "-fuse-ld=" + linker, source, "-o", "prog"])
                    outputs.append(self.read("prog"))
                self.assertEqual(outputs[0], outputs[1], "%s with %s" % (source, linker))
                self.assertIn("0", self.run_command(["./prog"]).stdout)

    def test_messages_and_status_are_clangs(self):
        self.write("bad.c", "int f(void) { int unused; return x; }\n")
        self.write("warn.c", "int f(int a) { int unused; if (a = 1) return 2; }\n")
        for name, flags in (("bad.c", []), ("warn.c", ["-Wall"]), ("warn.c", ["-Wall", "-Werror"]),
                            ("bad.c", ["-fno-such-option"]), ("none.c", []), ("warn.c", ["-O9"])):
            plain = self.run_command([CLANG, "-c", *flags, name], status=None)
            ours = self.run_command([RDB_CLANG, "-c", *flags, name], status=None)
            self.assertEqual((plain.returncode, plain.stderr.replace("clang-22: ", "")),
                             (ours.returncode, ours.stderr.replace("rdb-clang: ", "")))

    def test_queries_are_answered_as_by_clang(self):
        for query in (["--version"], ["-print-resource-dir"], ["-dumpmachine"], ["-print-file-name=libc.so"],
                      ["-###", "-c", "x.c"]):
            self.write("x.c", "")
            plain = self.run_command([CLANG, *query])
            ours = self.run_command([RDB_CLANG, *query])
            self.assertEqual((plain.stdout, plain.stderr.replace(" (in-process)\n", "")), (ours.stdout, ours.stderr))

    def test_installed_copy_works(self):
        prefix = tempfile.mkdtemp(prefix="rdb-install-")
        self.addCleanup(shutil.rmtree, prefix)
        os.makedirs(prefix + "/bin")
        shutil.copy(RDB_CLANG, prefix + "/bin/rdb-clang")
        os.symlink("rdb-clang", prefix + "/bin/rdb-clang++")
        self.write("two.cc", CXX_SOURCE)
        self.run_command([prefix + "/bin/rdb-clang++", "two.cc", "-o", "prog"])
        self.assertEqual(subprocess.run([self.dir + "/prog"], capture_output=True).returncode, 0)


if __name__ == "__main__":
    unittest.main()
