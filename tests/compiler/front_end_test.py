# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users and build systems see of rdb-clang besides programs: messages with the right line, dependency files,
preprocessed text, descriptors at each level of optimisation, and the ways to say that something is debug code."""
import os
import re
import subprocess
import unittest

import harness
from toolchain import BUILD, CLANG, CLANGXX, ORACLE, RDB_CLANG, RDB_CLANGXX, SOURCE, CompilerTest, without_regions

UNSTEADY = os.path.join(BUILD, "lib", "librdb_unsteady_inlining.so")
RDB = os.path.join(BUILD, "bin", "rdb")

# A region at the very place of a variable that nobody needs, in a block that is never reached when optimised.
LOST = harness.program_text(__file__, "front_end/lost.c")

DECLARATIONS = harness.program_text(__file__, "front_end/declarations.cc")

DECLARATIONS_BEFORE = harness.program_text(__file__, "front_end/declarations_before.cc")

SUM = harness.program_text(__file__, "front_end/sum.c")

# A write that only the code of an inlined function makes.
PUT = harness.program_text(__file__, "front_end/put.c")

LONG = harness.program_text(__file__, "front_end/long.c")


class FrontEnd(CompilerTest):
    def records(self, bundle):
        with open(os.path.join(self.dir, bundle, "descriptors")) as file:
            return [line.rstrip("\n").split(" ") for line in file]

    def debug_output(self):
        return self.run_command(["/usr/bin/env", "LD_PRELOAD=" + ORACLE, "RDB_ORACLE_BUNDLE=prog.rdb", "./prog"]).stdout

    def test_descriptors_at_each_level(self):
        """The region has its place, and what a descriptor says of a value is true of the running program."""
        self.write("sum.c", SUM)
        for level in ("-O0", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Og"):
            with self.subTest(level=level):
                self.run_command([RDB_CLANG, level, "sum.c", "-o", "prog"])
                records = self.records("prog.rdb")
                regions = [r for r in records if r[0] == "region"]
                self.assertEqual([(r[4], r[5], r[6]) for r in regions], [("8", "10", "complete")])
                locations = [r for r in records if r[0] == "location"]
                self.assertGreaterEqual(len(locations), 1)
                arguments = [r for r in records if r[0] == "argument"]
                self.assertEqual(len(arguments), 2 * len(locations))
                self.assertEqual({r[4] for r in arguments}, {'"sum"', '"i"'})
                missing = [r for r in arguments if "unavailable" in r]
                self.assertLessEqual(len(missing), 0 if level in ("-O0", "-O1", "-Og") else len(arguments) // 3, missing)
                kinds = {r[11] for r in arguments if r not in missing}
                self.assertTrue(kinds <= ({"stack"} if level == "-O0" else {"register", "value", "constant", "stack"}), kinds)
                right = ["sum 3 at 0", "sum 10 at 1", "sum 34 at 2", "sum 103 at 3"]
                shown = self.debug_output().splitlines()
                self.assertEqual(shown, right if not missing else [line for line in right if line in shown])

    def test_code_that_is_inlined_otherwise(self):
        """What the compile of the program shows is expected of the one that follows regions; where it does something else
        it is done once more, and nothing is left to chance."""
        self.write("put.c", PUT)
        shown = []
        for chosen, compiles in (("none", 3), ("3", 4)):
            done = self.run_command(["/usr/bin/env", "UNSTEADY_COMPILE=" + chosen, RDB_CLANG, "-O2",
                                     "-fpass-plugin=" + UNSTEADY, "put.c", "-o", "prog"])
            self.assertEqual(done.stderr.splitlines(), [f"compile {i + 1}" for i in range(compiles)])
            shown.append([[word for word in r if "__rdb_fn_" not in word] for r in self.records("prog.rdb")
                          if r[0] in ("region", "location", "argument")])
            self.assertEqual(self.debug_output(), "1 of 7\n2 of 14\n")
        self.assertEqual(shown[0], shown[1])

    def test_remarks_are_clangs(self):
        self.write("plain.c", without_regions(PUT))
        self.write("put.c", PUT)
        remarks = ["-O2", "-Rpass=.*", "-Rpass-missed=.*", "-Rpass-analysis=.*", "-fno-caret-diagnostics", "-c"]
        plain = self.run_command([CLANG, *remarks, "plain.c"]).stderr
        ours = self.run_command([RDB_CLANG, *remarks, "put.c"]).stderr
        self.assertIn("'put' inlined into 'add'", plain)
        words = [re.sub(r"^[a-z]*\.c:\d+:", "", text, flags=re.M) for text in (plain, ours)]
        self.assertEqual(words[1], words[0])
        self.assertIn("put.c:6:3: remark: 'put' inlined", ours)

    def test_long_computations(self):
        """No way of looking at values may need a stack as deep as they are long."""
        steps = "".join(f"  x = x * 3 + (y ^ {7919 * i + 1}u); y ^= x >> 3;\n" for i in range(3000))
        self.write("long.c", LONG % steps)
        self.run_command([RDB_CLANG, "-O1", "long.c", "-o", "prog"])
        self.assertEqual([r[6] for r in self.records("prog.rdb") if r[0] == "region"], ["complete"])
        shown = self.debug_output().split()
        self.assertEqual(shown[0], shown[1])

    def test_lost_regions(self):
        self.write("lost.c", LOST)
        done = self.run_command([RDB_CLANG, "-O2", "-c", "lost.c"])
        self.assertRegex(done.stderr, r"^lost\.c:6:5: warning: this debug region has no place in 'f': .*\[-Wrdb-lost-region\]")
        done = self.run_command([RDB_CLANG, "-O2", "--rdb-strict", "-c", "lost.c"], status=1)
        self.assertRegex(done.stderr, r"^lost\.c:6:5: error: .*\[-Werror,-Wrdb-lost-region\]")
        self.assertEqual(self.run_command([RDB_CLANG, "-O0", "--rdb-strict", "-c", "lost.c"]).stderr, "")
        # As with clang's own warnings.
        for words, status, kind in ((["-Wno-rdb-lost-region"], 0, ""), (["-w"], 0, ""), (["-Werror=rdb-lost-region"], 1, "error"),
                                    (["-Werror=rdb-lost-region", "-Wno-error=rdb-lost-region"], 0, "warning")):
            done = self.run_command([RDB_CLANG, "-O2", *words, "-c", "lost.c"], status=status)
            self.assertRegex(done.stderr, rf"^lost\.c:6:5: {kind}: this" if kind else r"^\Z", words)

    def test_no_object_is_kept(self):
        self.write("sum.c", SUM)
        for output in ("/dev/null", "-"):
            self.assertEqual(subprocess.run([RDB_CLANG, "-c", "sum.c", "-o", output], cwd=self.dir, capture_output=True).stderr,
                             b"")

    def test_preprocessed_text_has_no_regions(self):
        """That is said where the text is compiled."""
        self.write("sum.c", SUM)
        done = self.run_command([RDB_CLANG, "-save-temps", "-c", "sum.c", "-o", "sum.o"])
        self.assertRegex(done.stderr,
                         r"^sum\.i: warning: debug regions do not go through preprocessed text.*\[-Wrdb-lost-region\]\n$")
        self.assertEqual(self.run_command([RDB_CLANG, "-Wno-rdb-lost-region", "-save-temps", "-c", "sum.c", "-o",
                                           "sum.o"]).stderr, "")

    def test_every_compile_makes_the_same_object(self):
        program = os.path.join(SOURCE, "tests", "compiler", "programs", "objects.cc")
        for level in ("-O0", "-O2"):
            objects = set()
            for _ in range(6):
                self.run_command([RDB_CLANGXX, "-std=c++20", "-w", level, "-c", program, "-o", "same.o"])
                objects.add(self.read("same.o"))
            self.assertEqual(len(objects), 1, level)

    def test_messages_name_the_edited_line(self):
        """Behind a region, inside one and in the program's own part."""
        head = "#include <rdb/rdb.h>\n#include <stdio.h>\nint f(int n) {\n  rdb_begin\n    printf(\"%d\\n\", n);\n  rdb_end\n"
        for text, line, words in ((head + "  return m;\n}\n", 7, "undeclared identifier 'm'"),
                                  (head.replace(", n)", ", m)") + "  return n;\n}\n", 5, "undeclared identifier 'm'"),
                                  (head + "  return n\n}\n", 7, "expected ';'")):
            self.write("bad.c", text)
            done = self.run_command([RDB_CLANG, "-c", "bad.c"], status=1)
            errors = [l for l in done.stderr.splitlines() if ": error: " in l]
            self.assertEqual(len(errors), 1, done.stderr)
            self.assertTrue(errors[0].startswith("bad.c:%d:" % line), done.stderr)
            self.assertIn(words, errors[0])
        self.write("warn.c", head + "  int unused;\n  return n;\n}\n")
        done = self.run_command([RDB_CLANG, "-Wall", "-c", "warn.c"])
        self.assertEqual([l.split(" warning")[0] for l in done.stderr.splitlines() if " warning: " in l], ["warn.c:7:7:"])

    def test_lines_of_the_program_are_those_before(self):
        text = SUM.replace("  total += sum;\n", "  total += sum + 0 * __LINE__;\n  rdb_begin\n    puts(\"x\");\n  rdb_end\n"
                           "  if (sum == 12345) printf(\"%d %s\\n\", __LINE__, __FILE__);\n")
        self.write("lines.c", text)
        self.run_command([RDB_CLANG, "-O1", "-g", "lines.c", "-o", "prog"])
        found = self.read("prog")
        self.write("lines.c", without_regions(text))
        self.run_command([CLANG, "-O1", "-g", "lines.c", "-o", "prog"])
        self.assertTrue(found == self.read("prog"), "the programs differ")

    def test_dependency_files(self):
        """They list what the program includes, and what only debug code does."""
        self.write("own.h", "#define OWN 1\n")
        self.write("debug.h", "#define EXTRA 2\n")
        self.write("deps.c", '#include <rdb/rdb.h>\n#include "own.h"\nrdb_begin_globals\n#include "debug.h"\nrdb_end_globals\n'
                   "int f(void) {\n  rdb_begin\n    __builtin_printf(\"%d\", EXTRA);\n  rdb_end\n  return OWN;\n}\n")
        for flags in (["-MMD", "-MF", "deps.d"], ["-MD", "-MF", "deps.d", "-MT", "deps.o"], ["-MMD", "-MP", "-MF", "deps.d"]):
            self.run_command([RDB_CLANG, "-O1", *flags, "-c", "deps.c", "-o", "deps.o"])
            words = self.read("deps.d").decode().replace("\\\n", " ").split()
            self.assertEqual(words[0], "deps.o:")
            for name in ("deps.c", "own.h", "debug.h"):
                self.assertIn(name, words, flags)

    def test_preprocessed_text(self):
        """It is the program's, with something that changes when a region does, so that caches of compilers notice."""
        self.write("sum.c", SUM)
        first = self.run_command([RDB_CLANG, "-E", "sum.c"]).stdout
        self.assertNotIn('"sum %d at %d', first)
        self.write("sum.c", SUM.replace("sum %d at", "Sum %d at"))
        second = self.run_command([RDB_CLANG, "-E", "sum.c"]).stdout
        self.assertNotEqual(first, second)
        self.write("sum.c", SUM)
        self.assertEqual(first, self.run_command([RDB_CLANG, "-E", "sum.c"]).stdout)

    def test_names_and_attributes_of_debug_code(self):
        """What begins with __rdb_ and what is annotated "rdb" is no part of the program, wherever it stands."""
        text = (harness.program_text(__file__, "front_end/names.c"))
        for level in ("-O0", "-O2"):
            self.write("names.c", text)
            self.run_command([RDB_CLANG, level, "names.c", "-o", "prog"])
            found = self.read("prog")
            self.assertEqual(self.debug_output(), "2\n3\n")
            self.write("names.c", without_regions(text))
            self.run_command([CLANG, level, "names.c", "-o", "prog"])
            self.assertTrue(found == self.read("prog"), "the programs differ")

    def test_declarations_without_markers(self):
        """The same at file scope, in namespaces and in extern "C", with nothing around it."""
        for level in ("-O0", "-O2"):
            self.write("names.cc", DECLARATIONS)
            self.run_command([RDB_CLANGXX, level, "names.cc", "-o", "prog"])
            found = self.read("prog")
            self.assertEqual(self.debug_output(), "1000 126 1 7 2 3 1 7\n")
            self.write("names.cc", DECLARATIONS_BEFORE)
            self.run_command([CLANGXX, level, "names.cc", "-o", "prog"])
            self.assertTrue(found == self.read("prog"), "the programs differ")

    def test_debug_sources(self):
        """A file of debug code alone, given at the link; functions of it that run before and after all."""
        text = (harness.program_text(__file__, "front_end/debug_source.c"))
        self.write("more.c", "#include <stdio.h>\nstatic int base;\n__attribute__((constructor)) static void begin(void) { "
                   "base = 40; puts(\"begin\"); }\nint __rdb_next(int n) { return base + n; }\n")
        for step in (["main.c", "-o", "prog"], ["main.o", "-o", "prog"]):
            self.write("main.c", text)
            if step[0] == "main.o":
                self.run_command([RDB_CLANG, "-O1", "-c", "main.c", "--rdb-debug-source=more.c"])
            self.run_command([RDB_CLANG, "-O1", "--rdb-debug-source=more.c", *step])
            found = self.read("prog")
            self.assertEqual(self.debug_output(), "begin\nnext 41\nend\n")
            self.assertIn("__rdb_next", self.run_command([RDB, "inspect", "prog.rdb"]).stdout)
            self.write("main.c", without_regions(text))
            self.run_command([CLANG, "-O1", "main.c", "-o", "prog"])
            self.assertTrue(found == self.read("prog"), "the programs differ")
        self.write("more.c", "int __rdb_next(int n) { return missing + n; }\n")
        self.write("main.c", text)
        done = self.run_command([RDB_CLANG, "--rdb-debug-source=more.c", "main.c", "-o", "prog"], status=1)
        self.assertIn("more.c:1:32: error: use of undeclared identifier 'missing'", done.stderr)

    def test_a_region_between_two_cases_is_lost_alone(self):
        self.write("main.c", harness.program_text(__file__, "front_end/cases.c"))
        done = self.run_command([RDB_CLANG, "-O0", "main.c", "-o", "prog"])
        self.assertIn("main.c:10:5: warning: this debug region has no place in 'work': the labels of the switch around it "
                      "lead to "
                      "the same code", done.stderr)
        self.assertEqual(done.stderr.count("warning:"), 1, done.stderr)
        self.assertEqual(self.debug_output(), "begin 1\nbegin 3\nthree\n")

    def test_static_functions_that_write(self):
        """Optimised code may not have a static function as it is written; a copy must not write to the program."""
        self.write("static.c", harness.program_text(__file__, "front_end/static.c"))
        done = self.run_command([RDB_CLANG, "-O2", "static.c", "-o", "prog"])
        self.assertRegex(done.stderr, r"static\.c:6:3: warning: .*'find', which writes to 'lookups'")
        self.assertEqual(self.run_command([RDB_CLANG, "-O0", "static.c", "-o", "prog"]).stderr, "")

    def test_cxx_names(self):
        self.write("names.cc", harness.program_text(__file__, "front_end/cxx_names.cc"))
        self.run_command([RDB_CLANGXX, "-O1", "names.cc", "-o", "prog"])
        self.assertEqual(self.debug_output(), "1\n")


if __name__ == "__main__":
    unittest.main()
