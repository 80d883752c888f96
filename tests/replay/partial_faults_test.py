# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions that fault after part of their work leave the same state in a replay as when recorded: every kind
of them, at every access at which it can fault. And code that is written by every kind of store.

    partial_faults_test.py           a part of the cases in which the program dies; a few seeds of random writes
    partial_faults_test.py --full    more of both"""
import re
import signal

import harness

FULL = harness.take_flag("--full")

# How many cases a group has at least, where the CPU has no AVX-512.
GROUPS = {"string": 5000, "element": 100, "store": 2000, "load": 400}
DEATHS = 400 if FULL else 10  # in each group
SEEDS = 60 if FULL else 6


class PartialFaults(harness.TestCase):
    default_timeout = 900

    def record_and_replay(self, argv, status=0):
        """Native and recorded output are the same; so is everything in two replays."""
        native = self.run_program(argv, status=status)
        trace = self.path("trace")
        recorded = self.rdb("record", "-q", "--checksum=calls", "-o", trace, "--", *argv, status=status)
        self.assertEqual(recorded.out, native.out)
        for _ in range(2):
            replayed = self.rdb("replay", "--no-module", trace, status=status)
            self.assertEqual(replayed.out, recorded.out)
            # After that, replay tells of what the program died of.
            self.assertEqual(replayed.err[: len(recorded.err)], recorded.err)
            self.assertNotIn("differs", replayed.err)
        self.rdb("rm", trace, status=0)
        return recorded

    def test_a_handler_sees_the_same_part_done(self):
        for group, least in GROUPS.items():
            with self.subTest(group):
                recorded = self.record_and_replay([harness.target("record/partial_faults"), group])
                cases, faults = map(int, re.search(r"(\d+) cases, (\d+) faults", recorded.out).groups())
                self.assertGreater(cases, least)
                self.assertGreater(faults, cases * 0.8)

    def test_the_end_of_a_program_that_dies_of_it(self):
        """The checksum at the end compares registers and memory with the recorded ones."""
        for group, least in GROUPS.items():
            for number in range(1, least, max(1, least // DEATHS)):
                argv = [harness.target("record/partial_faults"), group, number]
                native = self.run_program(argv)
                if native.status == 98:  # a comparison that ended before the fault
                    continue
                with self.subTest(group, number=number):
                    self.record_and_replay(argv, status=-signal.SIGSEGV)

    def test_gdb_shows_the_crash_of_a_copy(self):
        source = self.write("copy.c", harness.program_text(__file__, "partial_faults/copy.c"))
        self.run_program(["/usr/bin/gcc", "-O1", "-g", "-w", "-o", self.path("copy"), source], status=0)
        self.rdb("record", "-q", "--checksum", "-o", self.path("trace"), "--", self.path("copy"), 70000,
                 status=-signal.SIGSEGV)
        shown = self.rdb("gdb", self.path("trace"), "--at", "end", "--", "-batch", "-ex", "print $rcx",
                         "-ex", "print $rdi - (long)buffer", "-ex", "print buffer[0]", "-ex", "print buffer[65535]")
        values = re.findall(r"^\$\d+ = (.*)$", shown.out, re.M)
        self.assertEqual(values, ["4464", "65536", "65 'A'", "65 'A'"], f"\n{shown}")
        # The copy is what wrote there last.
        found = self.rdb("last-write", "buffer[65535]", self.path("trace"), status=0)
        self.assertIn("copy.c", found.out, f"\n{found}")

    def test_code_written_by_every_kind_of_store(self):
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                self.record_and_replay([harness.target("record/code_writes"), seed, 600])

    def test_code_writes_under_the_other_ways_to_run(self):
        argv = [harness.target("record/code_writes"), 3, 60]
        native = self.run_program(argv, status=0)
        for options in (["--engine=step"], ["--engine=blocks"], ["--engine=eager"], ["--lockstep"]):
            self.assertEqual(self.rdb("run", *options, "--", *argv, status=0).out, native.out)


if __name__ == "__main__":
    harness.main()
