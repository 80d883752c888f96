# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each event of <rdb/events.h> and both its sides, with the values that it carries. The recordings have hashes of memory
and registers, which every replay checks: being called changes nothing."""
import re

import harness

# Registered in an initialiser of the debug module, before the program's first instruction.
SIDES = harness.program_text(__file__, "event_kinds/sides.c")

# What system calls read: data as far as they took it, paths, vectors, structures.
READS = harness.program_text(__file__, "event_kinds/reads.c")
READS_SEEN = harness.program_text(__file__, "event_kinds/reads.expected").splitlines()

# Ways to write: vectors, strings, atomics, unaligned, across a range's begin and end, and not at all.
WAYS = harness.program_text(__file__, "event_kinds/ways.c")
WAYS_SEEN = harness.program_text(__file__, "event_kinds/ways.expected").splitlines()

# A thousand small ranges on the heap, one on a stack that comes and goes, calls of program functions that write.
MANY = harness.program_text(__file__, "event_kinds/many.c")

THREADS = harness.program_text(__file__, "event_kinds/threads.c")

# A callback finds the variables of the thread that the event is of, whichever thread debug code ran in last.
THREAD_LOCALS = harness.program_text(__file__, "event_kinds/thread_locals.c")

# Classes, overloads and templates by the names that people write; lambdas for the rest.
CLASSES = harness.program_text(__file__, "event_kinds/classes.cc")

BAD = harness.program_text(__file__, "event_kinds/bad.c")


@harness.needs_compiler
class EventKinds(harness.TestCase):
    def replay(self, name, source, status, *flags, options=()):
        self.write(name, source)
        compiler = harness.program("rdb-clang++" if name.endswith(".cc") else "rdb-clang")
        self.run_program([compiler, "-g", *flags, "-o", "prog", name], status=0)
        self.write("input", "abcdef")
        self.run_program(["/bin/rm", "-rf", self.path("trace")])
        self.run_program(["/bin/sh", "-c", f"{harness.rdb()} record --checksum=calls -q -o trace -- ./prog 3<input"],
                         status=status)
        replayed = self.rdb("replay", *options, self.path("trace"))
        self.assertEqual(replayed.status, status, f"\n{replayed}")
        return replayed

    def test_both_sides_and_what_events_carry(self):
        for level in ("-O0", "-O1"):
            with self.subTest(level):
                replayed = self.replay("sides.c", SIDES, 3, level, "-fno-builtin")
                lines = [line for line in replayed.out.splitlines() if not line.startswith("time")]
                kept = [re.sub(r"= \d+, stack", "= N, stack", line) for line in lines if not line.startswith("before read")]
                self.assertEqual(kept, harness.program_text(__file__, "event_kinds/sides.expected").splitlines())
                self.assertIn("before read 4 of 4, was 263, is 263, in memory 263, rip there", lines)
                self.assertEqual([line for line in replayed.out.splitlines() if line.startswith("time")],
                                 ["time +0, value 5", "time +20, value 5", "time +40, value 5"])

    def test_what_system_calls_read(self):
        replayed = self.replay("reads.c", READS, 0, "-O1")
        self.assertEqual(replayed.out.splitlines(), [line + ", by a system call" for line in READS_SEEN], replayed)

    def test_vectors_strings_atomics_and_unaligned(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                replayed = self.replay("ways.c", WAYS, 3, level)
                self.assertEqual(replayed.out.splitlines(), [place + " right" for place in WAYS_SEEN] + ["end"])

    def test_a_thousand_ranges_removal_and_stacks(self):
        for level in ("-O0",):
            with self.subTest(level):
                replayed = self.replay("many.c", MANY, 10, level)
                # Half of the ranges are removed at their first hit. The stack's place is written by later calls, too.
                even = 3 * sum(i % 7 for i in range(0, 1000, 2))
                odd = sum(i % 7 for i in range(1, 1000, 2))
                found = re.fullmatch(r"hits 2000, sum (\d+), removed 500, on stack (\d+), calls 0\n", replayed.out)
                self.assertTrue(found, replayed.out)
                self.assertEqual(int(found[1]), even + odd)
                self.assertGreaterEqual(int(found[2]), 10)

    def test_threads(self):
        replayed = self.replay("threads.c", THREADS, 0, "-O0", "-pthread")
        self.assertEqual(replayed.out, "end of another: 1\n" * 3 + "starts 3 ends 3 mine 1 others 150 calls 3 returns 3\n")

    def test_thread_local_variables_are_those_of_the_thread(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                replayed = self.replay("locals.c", THREAD_LOCALS, 0, level, "-pthread")
                self.assertEqual(replayed.out, "1\n1 303 603 903, 10 calls, 0 wrong\n", replayed.err)

    def test_classes_templates_and_lambdas(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                replayed = self.replay("classes.cc", CLASSES, 7, level)
                lines = replayed.out.splitlines()
                self.assertIn("a strlen", lines)
                self.assertEqual([line for line in lines if line not in ("five later 1", "a strlen")],
                                 ["add int 3", "read 0, removed 0" if level == "-O0" else "write 3, removed 0", "add four",
                                  "twice 8", "twice 10", "8 10", "exit_group(7)", "exit 7"])
                self.assertIn("five later 1", lines)

    def test_mistakes_are_said_and_nothing_is_called(self):
        replayed = self.replay("bad.c", BAD, 0, "-O0")
        self.assertEqual(replayed.out, "0 0 0 0 0 0 0 0 0 -1\n0 1\n")
        for words in ("there is no system call 'wrte'", "there is no system call '9999'", "0 bytes at",
                      "are not the program's memory", "is no address of the program", "time 1 is over", "there is no callback",
                      "nothing in the recording is called no_such_function"):
            self.assertIn(words, replayed.err)


if __name__ == "__main__":
    harness.main()
