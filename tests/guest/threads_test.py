# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with threads run under the engine as they do without it, whatever the turns."""
import hashlib
import os
import re
import unittest

import harness
import thread_cases

FULL = harness.take_flag("--full")


class Threads(harness.TestCase):
    def check(self, argv, *options, stdin=""):
        native = self.run_program(argv, stdin=stdin, text=False)
        run = self.rdb("run", *options, "--", *argv, stdin=stdin, text=False)
        self.assertEqual(run.status, native.status, f"\n{run}")
        self.assertEqual(hashlib.sha256(run.out).hexdigest(), hashlib.sha256(native.out).hexdigest(), f"\n{run}")

    def check_guests(self, *options):
        for name, *arguments in thread_cases.CASES:
            with self.subTest(guest=name, arguments=arguments):
                self.check([harness.target(name), *arguments], *options)

    def test_guests(self):
        self.check_guests()

    @unittest.skipUnless(FULL, "long")
    def test_guests_fifty_times(self):
        for _ in range(50):
            self.check_guests()

    def test_guests_with_short_turns(self):
        self.check_guests("--chunk", "777")

    def test_guests_in_chaos(self):
        self.check_guests("--chaos", "--seed", "11")

    def test_guests_in_one_os_thread(self):
        self.check_guests("--one-thread", "--seed", "7", "--chunk", "20000")

    def test_one_os_thread_repeats_itself(self):
        def run(seed):
            result = self.rdb("run", "--one-thread", "--seed", seed, "--chunk", "3000", "--stats",
                              harness.target("threads/race"), status=0)
            return result.out, re.search(r"guest instructions: (\d+)", result.err).group(1)
        first = run("5")
        self.assertEqual([run("5") for _ in range(3)], [first] * 3)
        self.assertNotEqual(run("6"), first)

    def test_one_os_thread_can_be_forked_anywhere(self):
        """At random places; every copy goes on to the same end."""
        argv = ["--one-thread", "--seed", "5", "--chunk", "3000", "--stats"]
        result = self.rdb("run", *argv, harness.target("threads/race"), status=0)
        count = int(re.search(r"guest instructions: (\d+)", result.err).group(1))
        copied = self.rdb("run", *argv, "--copies-every", str(count // 50), harness.target("threads/race"), status=0)
        lines = copied.out.splitlines(keepends=True)
        self.assertGreater(len(lines), 25)
        self.assertEqual(set(lines), {result.out})
        self.assertEqual(set(re.findall(r"guest instructions: (\d+)", copied.err)), {str(count)})

    def test_programs(self):
        for argv in thread_cases.programs(self):
            if not os.path.exists(argv[0]):
                continue
            with self.subTest(argv[0]):
                self.check(argv)

    def test_a_racy_program_runs_differently_with_other_seeds(self):
        results = {self.rdb("run", "--chaos", "--seed", str(seed), harness.target("threads/race"), status=0).out
                   for seed in range(4)}
        self.assertGreater(len(results), 1)

    def test_turns_end_after_their_instructions(self):
        # Without switches every update counts.
        run = self.rdb("run", "--chunk", "1000000000", harness.target("threads/race"), status=0)
        self.assertEqual(run.out, "1200000\n")


if __name__ == "__main__":
    harness.main()
