# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug regions run inside a replay and change nothing in it."""
import os
import re
import signal

import harness

STACK = harness.program_text(__file__, "regions/stack.c")

CALLBACK = harness.program_text(__file__, "regions/callback.c")

# In a new thread, malloc() makes an arena of its own: it maps memory, gives a part of it back and protects another.
MEMORY = harness.program_text(__file__, "regions/memory.c")

# What program functions do besides plain stores: bits and words elsewhere than their operand says, memory that is made
# read-only, and a heap that grows.
ODD = harness.program_text(__file__, "regions/odd.c")

# The program prints nothing before the first region, then lets text wait in its buffer.
PRINTING = harness.program_text(__file__, "regions/printing.c")


class Regions(harness.TestCase):
    def build(self, name, source, *flags):
        self.write(name + ".c", source)
        self.run_program([harness.program("rdb-clang"), "-g", *flags, "-o", name, name + ".c"], status=0)

    def record(self, *argv, status):
        return self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", *argv, status=status)

    def replay(self, *options):
        return self.rdb("replay", *options, self.path("trace"))

    def test_regions_see_the_recorded_values(self):
        self.build("stack", STACK, "-O0")
        recorded = self.record("./stack", "3", "4", "5", status=-signal.SIGSEGV)
        self.assertEqual(recorded.out, "pushed 3\n")
        replayed = self.replay()
        self.assertEqual(replayed.status, -signal.SIGSEGV, f"\n{replayed}")
        # `count` is the program's own function: what it writes (pushes += 100) is undone when the region ends.
        self.assertEqual(re.sub(r"pushes \d+", "", replayed.out),
                         "push 3 on 0 items, \npush 4 on 1 items, \npush 5 on 2 items, \n"
                         "pushed 3\ntotal 5\ntotal 9\ntotal 12\n")

    def test_without_the_module_the_replay_is_the_recording(self):
        self.build("stack", STACK, "-O0")
        recorded = self.record("./stack", "3", "4", "5", status=-signal.SIGSEGV)
        replayed = self.replay("--no-module")
        self.assertEqual((replayed.out, replayed.status), (recorded.out, recorded.status))

    def test_prefix_names_time_thread_and_line(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", status=-signal.SIGSEGV)
        replayed = self.replay("--prefix")
        self.assertRegex(replayed.out, r"(?m)^\[\d+ \d+ stack\.c:14\] push 3 on 0 items")
        self.assertRegex(replayed.out, r"(?m)^pushed 1$")

    def test_only_and_max_hits(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", "4", status=-signal.SIGSEGV)
        replayed = self.replay("--only", "stack.c:27", "--max-hits", "1")
        self.assertEqual(replayed.out, "pushed 2\ntotal 4\n")

    def test_values_that_mean_nothing(self):
        """One line says so, before anything runs."""
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", "4", status=-signal.SIGSEGV)
        for options, words in ((["--only", "stack.c", "--only", "stak.c"], "--only stak.c: there is no such region"),
                               (["--only", "stack.c:1"], "no such region"),
                               (["--only", ""], "--only: it cannot be empty"),
                               (["--max-hits", "-1"], "--max-hits: -1: it cannot be negative"),
                               (["--max-hits", "few"], "--max-hits few: not a number"),
                               (["--from", "10", "--until", "5"], "no region runs between them"),
                               (["--region-timeout", "-1"], "it cannot be negative"),
                               (["--debug-output", ""], "it cannot be empty"),
                               (["--debug-output", "/no/such/folder/file"], "/no/such/folder/file: No such file"),
                               (["--protect=maybe"], "expected report, undo or fatal"),
                               (["-m", "stack.rdb", "-m", "./stack.rdb"], "the same bundle as -m stack.rdb"),
                               (["-m", "stack"], "stack/descriptors: cannot be read")):
            with self.subTest(options):
                replayed = self.replay(*options)
                self.assertEqual((replayed.status, replayed.out), (2, ""), f"\n{replayed}")
                self.assertIn(words, replayed.err)

    def test_times_between_which_regions_run(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", "4", status=-signal.SIGSEGV)
        times = [int(time) for time in re.findall(r"(?m)^\[(\d+) \d+ stack", self.replay("--prefix").out)]
        self.assertEqual(len(times), 4)
        replayed = self.replay("--prefix", "--from", str(times[1]), "--until", str(times[2]))
        self.assertEqual([int(time) for time in re.findall(r"(?m)^\[(\d+) \d+ stack", replayed.out)], times[1:3])
        stopped = self.replay("--prefix", "--to", str(times[1]))
        self.assertEqual(stopped.status, 0)
        self.assertIn(f"stopped at time {times[1]}", stopped.err)

    def test_a_summary_of_hits_lines_and_time(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", "4", status=-signal.SIGSEGV)
        plain, counted = self.replay(), self.replay("--stats")
        self.assertEqual(counted.out, plain.out)
        self.assertRegex(counted.err, r"(?m)^stack\.c:14 +2 +0 +2 +\d+$")
        self.assertRegex(counted.err, r"(?m)^stack\.c:26 +2 +0 +2 +\d+$")

    def test_memory_calls_of_program_functions_are_undone(self):
        self.build("memory", MEMORY, "-O0", "-pthread")
        recorded = self.record(self.path("memory"), status=0)
        replayed = self.replay("--stats")
        self.assertEqual(sorted(replayed.out.splitlines()), sorted([*recorded.out.splitlines(), "memory 8 9"]), replayed)
        self.assertIn("crashed with signal 11", replayed.err)
        # The first region was run again, silently, after the second went wrong; its line still counts.
        self.assertRegex(replayed.err, r"memory\.c:23 +1 +0 +1 ")

    def test_what_program_functions_did_is_undone(self):
        for level in ("-O0", "-O2"):
            for options in ([], ["--protect=undo"]):
                with self.subTest(level, options=options):
                    self.build("odd", ODD, level)
                    self.run_program(["/bin/rm", "-rf", self.path("trace")])
                    self.record(self.path("odd"), status=0)
                    replayed = self.replay(*options)
                    self.assertEqual(replayed.out.splitlines(), ["79 7 1226", "3 78", "8", "0, 79 7 1225"], f"\n{replayed}")
                    self.assertIn("crashed with signal 11", replayed.err)

    def test_what_program_functions_print_is_shown_in_its_place(self):
        self.build("printing", PRINTING, "-O0")
        self.assertEqual(self.record(self.path("printing"), status=0).out, "first 1\nsecond 1\n")
        first = ["begin", "program: one", "between", "program: two at once", "program: before", "inside", "program: after", "end"]
        second = ["begin", "program: three", "program: four at once", "program: five", "program: six", " directly", "six"]
        replayed = self.replay()
        self.assertEqual(replayed.out.splitlines(), first + second + ["first 1", "second 1"], f"\n{replayed}")
        self.assertIn("to its error stream\n", replayed.err)
        replayed = self.replay("--debug-output", self.path("debug.txt"))
        self.assertEqual(replayed.out, "first 1\nsecond 1\n", f"\n{replayed}")
        with open(self.path("debug.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read().splitlines(), first + second)

    def test_debug_output_goes_to_a_file(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", status=-signal.SIGSEGV)
        replayed = self.replay("--only", "stack.c:27", "--debug-output", self.path("out.txt"))
        self.assertEqual(replayed.out, "pushed 1\n")
        with open(self.path("out.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "total 3\n")

    def test_output_that_cannot_be_written(self):
        """The replay goes on, and says so at its end."""
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", status=-signal.SIGSEGV)
        for options in ((), ("--prefix",)):
            replayed = self.rdb("replay", "--debug-output", "/dev/full", *options, self.path("trace"), status=125)
            self.assertEqual(replayed.out, "pushed 1\n")
            self.assertIn("\nrdb: debug output was lost in part: No space left on device\n", replayed.err)
        replayed = self.run_program(["/bin/sh", "-c", f"{harness.rdb()} replay --no-module trace >/dev/full"], status=125)
        self.assertIn("\nrdb: the program's output was lost in part: No space left on device\n", replayed.err)

    def test_program_functions_call_back_into_debug_code(self):
        self.build("callback", CALLBACK, "-O0")
        recorded = self.record("./callback", status=3)
        replayed = self.replay()
        self.assertEqual(replayed.out, "441 shown 3\n576 shown 6\n729 shown 9\n" + recorded.out)
        self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")

    def test_a_damaged_bundle(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", status=-signal.SIGSEGV)
        module = self.path("stack.rdb/module.so")
        with open(module, "rb") as file:
            whole = file.read()
        for size in (0, 30, 3000, len(whole) // 2):
            with open(module, "wb") as file:
                file.write(whole[:size])
            replayed = self.rdb("replay", self.path("trace"), status=2)
            self.assertIn("rdb: cannot load ./stack.rdb/module.so: it is not there, or damaged", replayed.err)

    def test_a_bundle_of_another_build_is_refused(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", status=-signal.SIGSEGV)
        self.build("stack", STACK.replace("total +=", "total -="), "-O0")
        replayed = self.rdb("replay", "-m", "stack.rdb", self.path("trace"))
        self.assertEqual(replayed.status, 2, f"\n{replayed}")
        self.assertIn("another build", replayed.err)

    def test_programs_are_identical_to_plain_clang(self):
        self.build("stack", STACK, "-O2")
        stripped = re.sub(r"  *rdb_begin\n(.*\n)*?  *rdb_end\n", "", STACK).replace("#include <rdb/rdb.h>\n", "")
        os.mkdir(self.path("plain"))
        with open(self.path("plain/stack.c"), "w", encoding="utf-8") as file:
            file.write(stripped)
        self.run_program(["/usr/bin/clang-22", "-O2", "-o", "stack", "stack.c"], cwd=self.path("plain"), status=0)
        self.run_program([harness.program("rdb-clang"), "-O2", "-o", "stack", "stack.c"], status=0)
        with open(self.path("stack"), "rb") as ours, open(self.path("plain/stack"), "rb") as theirs:
            self.assertEqual(ours.read(), theirs.read())


if __name__ == "__main__":
    harness.main()
