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
        # The line that is quoted is the user's, and the column is in it.
        text = (HEAD + body).splitlines()[line - 1]
        quoted = done.stderr.splitlines()[done.stderr.splitlines().index(errors[0]) + 1]
        self.assertEqual(quoted.split("| ", 1)[1], text, done.stderr)
        column = int(errors[0].split(":")[2])
        self.assertNotEqual(text[column - 1:].strip(), "", done.stderr)
        return column

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
        self.refused("int f(int n) {\nswitch (n) {\ncase 0: n++;\nrdb_begin\ncase 1: printf(\"%d\", n);\nrdb_end\n}\nreturn "
                     "n;\n}\n", 8, "case label")

    def test_sole_body(self):
        column = self.refused("int f(int n) {\nif (n)\n    rdb_begin\nprintf(\"%d\", n);\nrdb_end\nn++;\nreturn n;\n}\n", 6,
                              "sole body")
        self.assertEqual(column, 5)

    def test_writing(self):
        for statement in ("n = 3;", "n++;", "g += 2;", "a[1] = 4;"):
            self.refused("int f(int n) {\nint a[2] = {n, n};\nrdb_begin\n%s\nrdb_end\nreturn a[0];\n}\n" % statement, 7,
                         "cannot write to")

    def test_writing_by_operators(self):
        for statement in ("s = \"b\";", "s += 'c';", "v[0] = 3;", "s[0] = 'd';", "v[0]++;", "++i;", "i--;"):
            self.refused("#include <string>\n#include <vector>\nint f(std::string s, std::vector<int> v) {\nauto i = "
                         "v.begin();\nrdb_begin\n%s\n"
                         "rdb_end\nreturn s.size() + *i;\n}\n" % statement, 9, "a debug region cannot write to", name="bad.cc")
        # Its own objects are another matter.
        self.write("good.cc",
                   HEAD + "#include <string>\n#include <vector>\nint f(std::vector<std::string> &v) {\nrdb_begin\nauto w = "
                          "v;\nw[0] = v[0];\n"
                   "w[0] += 'c';\nfor (auto i = v.begin(); i != v.end(); ++i) printf(\"%s\", i->c_str());\nrdb_end\nreturn "
                   "v.size();\n}\n")
        self.run_command([RDB_CLANGXX, "-c", "good.cc"])

    def test_text(self):
        self.refused("int f(int n) {\nrdb_begin\nreturn n;\n}\n", 5, "rdb_begin")
        self.refused("int f(int n) {\nreturn n;\nrdb_end\n}\n", 6, "rdb_end")

    def test_names_of_debug_code(self):
        self.refused("int a; int __rdb_b;\nint f(int n) {\nreturn n;\n}\n", 4, "must stand alone on its lines")
        self.refused("int __rdb_b(int n) {\n#ifdef X\nn++;\n#endif\nreturn n;\n}\n", 4, "preprocessing directive inside")
        self.refused("#ifdef X\nint f(int n) {\n#else\nint f(long n) {\n#endif\nreturn n;\n}\nint __rdb_b;\n", 11,
                     "put rdb_begin_globals")
        # A macro on the line before would go to the program's next declaration.
        for macro, language in (("static", "c"), ("__attribute__((cold))", "c"), ("[[gnu::cold]]", "cc"), ('extern "C"', "cc")):
            self.refused("#define WITH %s\nWITH\nint __rdb_b(int n) { return n; }\nint f(int n) {\nreturn n;\n}\n" % macro, 6,
                         "debug code by its name", name="bad." + language)
        # What is not debug code must stay.
        self.refused("int a, __rdb_b;\n", 4, "'a' would leave the program")
        self.refused("#define DEFINE(x) int x = 5;\nstatic DEFINE(y)\nint __rdb_b;\n", 5, "'y' would leave the program")
        # The attribute is not in the text.
        self.refused("#define NOTE annotate\n__attribute__((NOTE(\"rdb\"))) int f(int n) {\nreturn n;\n}\n", 5,
                     "'f' is debug code by its attribute")
        # Braces that conditionals hide: still inside of the function.
        self.refused("int f(int n) {\nif (n) {\n#ifdef X\nn++; }\n#else\nn--; }\n#endif\nint __rdb_b = n;\nrdb_begin\n"
                     "printf(\"%d\", __rdb_b);\n"
                     "rdb_end\nreturn n;\n}\n", 11, "declare it in a region or at file scope")
        self.refused("int f(int n) {\n__attribute__((annotate(\"rdb\"))) int b = 1;\nrdb_begin\nb++;\nrdb_end\nreturn n;\n}\n",
                     5, "by its attribute")
        self.refused("int f(int n) {\nint __rdb_b = 1;\nrdb_begin\n__rdb_b++;\nrdb_end\nreturn n;\n}\n", 5,
                     "debug code by its name")

    def test_places_of_the_program_between_regions(self):
        """What clang itself says of debug code, with notes about the program, which stands behind another region."""
        self.write("bad.c", HEAD + "int f(int n) {\nrdb_begin\nputs(\"f\");\nrdb_end\nreturn n;\n}\n"
                   "int h(int n) {\nreturn n;\n}\nint k(int n) {\nrdb_begin\nh(n, 1);\nrdb_end\nreturn n;\n}\n")
        done = self.run_command([RDB_CLANG, "-c", "bad.c"], status=1)
        self.assertIn("bad.c:15:6: error: too many arguments", done.stderr)
        self.assertIn("bad.c:10:5: note: 'h' declared here", done.stderr)
        self.assertIn("\n   10 | int h(int n) {\n", done.stderr)

    def test_capture_that_the_program_does_not_have(self):
        self.refused("int f(int n) {\nint hidden = n;\nauto l = [&](int k) {\nrdb_begin\nprintf(\"%d\", hidden);\nrdb_end\n"
                     "return k;\n};\nreturn l(n) + hidden;\n}\n", 8, "does not capture 'hidden'", name="bad.cc")

    def test_a_size_that_is_not_kept(self):
        self.refused("int f(int n) {\nint grid[n][n];\nn += g;\nrdb_begin\nprintf(\"%zu\", sizeof grid);\nrdb_end\nreturn n;\n"
                     "}\n", 7, "depends on what 'n' was before")

    def test_limits_are_named(self):
        self.write("one.cc", HEAD + "int f(int n) {\nrdb_begin\nprintf(\"%d\", n);\nrdb_end\nreturn n;\n}\n")
        for flag, words in (("-flto", "link-time optimisation"), ("-fsanitize=address", "sanitizers")):
            done = self.run_command([RDB_CLANGXX, flag, "-c", "one.cc"], status=1)
            self.assertRegex(done.stderr, r"^one\.cc:5:1: error: debug regions do not work with .*" + words)


if __name__ == "__main__":
    unittest.main()
