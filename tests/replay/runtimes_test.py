# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runtimes that choose their own addresses: Go's race detector, Java with the collectors Shenandoah and ZGC, sbcl, clisp, and
valgrind. They do the same under rdb, when they are recorded and when they are replayed, and gdb looks at the end."""
import os
import re

import harness

PROGRAMS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "programs", "runtimes")
LISP = "(loop for i below 300000 sum (length (list i (* i i))))"


class Runtime(harness.TestCase):
    """What the tests below share."""
    default_timeout = 600

    def check(self, command, status=0, alike=lambda result: (result.out, result.err)):
        native = self.run_program(command, status=status)
        live = self.rdb("run", *command, status=status)
        self.assertEqual(alike(live), alike(native), f"\n{native}\n{live}")
        for option in ("--checksum", "--chaos"):
            trace = self.path("trace" + option)
            recorded = self.rdb("record", "-q", option, "-o", trace, *command, status=status)
            self.assertEqual(alike(recorded), alike(native), f"\n{native}\n{recorded}")
            for _ in range(2):
                replayed = self.rdb("replay", trace, status=status)
                self.assertEqual((replayed.out, replayed.err), (recorded.out, recorded.err))
        answers = self.rdb("gdb", self.path("trace--checksum"), "--", "-batch", "-ex", "goto end", "-ex", "reverse-stepi", "-ex", "stepi",
                           "-ex", "when", status=0)
        self.assertRegex(answers.out, r"(?m)^At \d{6,}(\.\d+)?, thread \d+\.$")
        return native

    def java(self, collector):
        self.run_program(["/usr/bin/javac", "-d", self.tmp, os.path.join(PROGRAMS, "Work.java")], status=0)
        return self.check(["/usr/bin/java", f"-XX:+Use{collector}GC", "-Xmx64m", "-cp", self.tmp, "Work"])


class Runtimes(Runtime):
    def test_go_with_its_race_detector(self):
        self.run_program(["/usr/bin/go", "build", "-race", "-o", self.path("race"), os.path.join(PROGRAMS, "race.go")], status=0,
                         env={"GOCACHE": self.path("cache"), "CGO_ENABLED": "1"})

        def kinds(result):
            return result.out, set(re.findall(r"WARNING: DATA RACE|Found \d data race|main\.main\.func1", result.err))
        native = self.check([self.path("race")], status=66, alike=kinds)
        self.assertIn("WARNING: DATA RACE", native.err)

    def test_java_with_shenandoah(self):
        self.java("Shenandoah")

    def test_sbcl(self):
        self.check(["/usr/bin/sbcl", "--noinform", "--no-sysinit", "--no-userinit", "--non-interactive", "--eval", f"(print {LISP})"])

    def test_clisp(self):
        self.check(["/usr/bin/clisp", "-norc", "-q", "-x", LISP])

    def test_valgrind(self):
        """With its report: of memory that was not initialised, and of a block that is lost."""
        self.run_program(["/usr/bin/gcc", "-g", "-o", self.path("program"), os.path.join(PROGRAMS, "uninitialised.c")], status=0)
        native = self.check(["/usr/bin/valgrind", "--leak-check=full", "--error-exitcode=9", self.path("program")], status=9,
                            alike=lambda result: (result.out, re.sub(r"==\d+==", "==", result.err)))
        self.assertIn("depends on uninitialised value", native.err)
        self.assertIn("definitely lost", native.err)


class ZGC(Runtime):
    """Its heap is one file of memory that is mapped at three places, which rdb does not record: tests/replay/CMakeLists.txt
    leaves this out."""
    def test_java_with_zgc(self):
        self.java("Z")


if __name__ == "__main__":
    harness.main()
