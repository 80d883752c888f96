# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a region must not do is an error in clang's own form, at its place in the edited file."""
import unittest

from toolchain import RDB_CLANG, RDB_CLANGXX, CompilerTest

HEAD = "#include <stdio.h>\n#include <rdb/rdb.h>\nint g;\n"


class Refusals(CompilerTest):
    def refused(self, body, line, words, name="bad.c"):
        self.write(name, HEAD + body)
        done = self.run_command([RDB_CLANGXX if name.endswith("cc") else RDB_CLANG, "-c", name], status=1)
        errors = [l for l in done.stderr.splitlines() if ": error: " in l]
        self.assertEqual(len(errors), 1, done.stderr)
        self.assertTrue(errors[0].startswith("%s:%d:" % (name, line)), done.stderr)
        self.assertIn(words, errors[0])

    def test_leaving(self):
        for statement, words in (("return 1;", "'return' leaves"), ("break;", "'break' leaves"),
                                 ("continue;", "'continue' leaves"), ("goto out;", "'goto' leaves")):
            self.refused("int f(int n) {\nwhile (n) {\nrdb_begin\nif (n > 1) %s\nrdb_end\nn--;\n}\nout:\nreturn n;\n}\n"
                         % statement, 7, words)

    def test_jumps_that_stay_inside_are_fine(self):
        self.write("good.c", HEAD + "int f(int n) {\nrdb_begin\nfor (int i = 0; i < n; i++) { if (i == 2) continue; "
                   "if (i == 3) break; }\nswitch (n) { case 1: break; default: ; }\nrdb_end\nreturn n;\n}\n")
        self.run_command([RDB_CLANG, "-c", "good.c"])

    def test_entering(self):
        self.refused("int f(int n) {\nswitch (n) {\ncase 0: n++;\nrdb_begin\ncase 1: printf(\"%d\", n);\nrdb_end\n}\nreturn n;\n}\n",
                     8, "case label")

    def test_sole_body(self):
        self.refused("int f(int n) {\nif (n)\nrdb_begin\nprintf(\"%d\", n);\nrdb_end\nn++;\nreturn n;\n}\n", 6, "sole body")

    def test_writing(self):
        for statement in ("n = 3;", "n++;", "g += 2;", "a[1] = 4;"):
            self.refused("int f(int n) {\nint a[2] = {n, n};\nrdb_begin\n%s\nrdb_end\nreturn a[0];\n}\n" % statement, 7,
                         "cannot write to")

    def test_text(self):
        self.refused("int f(int n) {\nrdb_begin\nreturn n;\n}\n", 5, "rdb_begin")
        self.refused("int f(int n) {\nreturn n;\nrdb_end\n}\n", 6, "rdb_end")

    def test_capture_that_the_program_does_not_have(self):
        self.refused("int f(int n) {\nint hidden = n;\nauto l = [&](int k) {\nrdb_begin\nprintf(\"%d\", hidden);\nrdb_end\n"
                     "return k;\n};\nreturn l(n) + hidden;\n}\n", 8, "does not capture 'hidden'", name="bad.cc")

    def test_a_size_that_is_not_kept(self):
        self.refused("int f(int n) {\nint grid[n][n];\nn += g;\nrdb_begin\nprintf(\"%zu\", sizeof grid);\nrdb_end\nreturn n;\n}\n",
                     7, "depends on what 'n' was before")

    def test_limits_are_named(self):
        self.write("one.cc", HEAD + "int f(int n) {\nrdb_begin\nprintf(\"%d\", n);\nrdb_end\nreturn n;\n}\n")
        for flag, words in (("-flto", "link-time optimisation"), ("-fsanitize=address", "sanitizers")):
            done = self.run_command([RDB_CLANGXX, flag, "-c", "one.cc"], status=1)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
