# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings of programs with threads replay exactly: output, end and the hashes of all threads' state."""
import os
import shutil

import harness
import thread_cases

# These start other programs or processes: guest/processes_test.py.
NOT_HERE = (["threads/lifetime", "exec"], ["threads/lifetime", "fork"])


class RecordThreads(harness.TestCase):
    def record(self, argv, *options, **how):
        shutil.rmtree(self.path("trace"), ignore_errors=True)
        return self.rdb("record", "--checksum", *options, "-o", self.path("trace"), "--", *argv, **how)

    def replay(self, **how):
        return self.rdb("replay", "--no-module", self.path("trace"), **how)

    def check_replay(self, recorded, times=1):
        for _ in range(times):
            replayed = self.replay(text=isinstance(recorded.out, str))
            self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")
            self.assertTrue(replayed.out == recorded.out, f"\n{replayed}")

    def check_guests(self, *options):
        for guest in thread_cases.CASES:
            if guest in NOT_HERE:
                continue
            with self.subTest(guest):
                name, *arguments = guest
                argv = [harness.target(name), *arguments]
                native = self.run_program(argv)
                recorded = self.record(argv, *options)
                self.assertEqual((recorded.status, recorded.out), (native.status, native.out), f"\n{recorded}")
                self.check_replay(recorded)

    def test_guests(self):
        self.check_guests()

    def test_guests_in_chaos(self):
        self.check_guests("--chaos", "--seed", "3")

    def test_programs(self):
        for argv in thread_cases.programs(self):
            if not os.path.exists(argv[0]):
                continue
            with self.subTest(argv[0]):
                recorded = self.record(argv, text=False)
                self.assertEqual(recorded.status, 0, f"\n{recorded}")
                self.check_replay(recorded)

    def test_timers_that_are_too_fast(self):
        """The program gets ahead all the same: the next signal is there whenever a handler returns."""
        argv = [harness.target("record/fast_timer"), "100", "2", "3000000"]
        native = self.run_program(argv, status=0)
        for options in ((), ("--chaos", "--seed", "1"), ("--chaos", "--seed", "2"), ("--chaos", "--seed", "3")):
            with self.subTest(options):
                recorded = self.record(argv, *options, status=0)
                self.assertEqual(recorded.out, native.out)
                self.check_replay(recorded)

    def test_a_lost_update_is_lost_each_time(self):
        for seed in range(3):
            recorded = self.record([harness.target("threads/race")], "--chaos", "--seed", str(seed), status=0)
            self.assertNotEqual(recorded.out, "1200000\n")
            self.check_replay(recorded, times=5)

    def test_turns_are_in_the_trace(self):
        self.record([harness.target("threads/race")], "--chunk", "5000", status=0)
        turns = self.rdb("dump", "--chunks", self.path("trace"), status=0).out.split("\n")[:-1]
        threads = {line.split()[2] for line in turns}
        self.assertEqual(len(threads), 5)
        self.assertGreater(len(turns), 100)
        # One turn begins where the one before has ended.
        for before, after in zip(turns, turns[1:]):
            self.assertEqual(before.split()[1], after.split()[0])

    def test_a_crash_names_its_thread(self):
        self.record([harness.target("threads/lifetime"), "crash"])
        replayed = self.replay()
        self.assertRegex(replayed.err, r"thread \d+")


if __name__ == "__main__":
    harness.main()
