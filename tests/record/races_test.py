# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Classic races that plain runs almost never show: rdb record --until-fail finds each, and the recording shows it
every time."""
import re
import shutil
import sys
import unittest

import harness

FULL = harness.take_flag("--full")

# What each prints when it happens, and a seed that shows it.
RACES = {
    "aba": ("ABA: one node, two owners\n", 3),
    "double_checked": ("half made\n", 217),
    "lost_update": ("lost update", 3),
    "missed_wakeup": ("missed wake-up\n", 2),
    "order": ("order violation\n", 2),
}
SEEDS = 20


class Races(harness.TestCase):
    default_timeout = 1800 if FULL else 300

    def test_each_is_found_and_replays(self):
        for name, (message, seed) in RACES.items():
            with self.subTest(name):
                trace = self.path(name)
                # The seed shows it at once where the C library is the one it was found with.
                found = self.rdb("record", "--until-fail", "-n", "300", "--seed", str(seed), "--checksum", "-o", trace,
                                 harness.target("race/" + name), status=1)
                self.assertRegex(found.err, r"run \d+ failed after .* \(seed \d+\)")
                self.assertIn(message, found.out)
                for _ in range(3):
                    replayed = self.rdb("replay", "--no-module", trace, status=1)
                    self.assertEqual(replayed.out, found.out)

    @unittest.skipUnless(FULL, "long")
    def test_runs_to_failure(self):
        """Reports how many chaotic runs it takes, from many seeds on, and how many plain ones do not show it."""
        for name in RACES:
            plain = sum(self.run_program([harness.target("race/" + name)]).status != 0 for _ in range(100))
            runs = []
            for start in range(1000, 1000 + 100 * SEEDS, 100):
                found = self.rdb("record", "--until-fail", "-n", "1000", "--seed", str(start), "-o", self.path("trace"),
                                 harness.target("race/" + name), status=1)
                runs.append(int(re.search(r"run (\d+) failed", found.err).group(1)))
                shutil.rmtree(self.path("trace"))
            runs.sort()
            print(f"{name}: median {runs[SEEDS // 2]} runs, most {runs[-1]}; plain: {plain} of 100", file=sys.stderr)
            self.assertLess(runs[SEEDS // 2], 200, name)

    def test_good_runs_are_thrown_away(self):
        result = self.rdb("record", "--until-fail", "-n", "3", "/bin/true", status=0)
        self.assertIn("none of 3 runs failed", result.err)
        self.assertEqual(self.rdb("ls", status=0).out.count("true-"), 0)

    def test_a_command_says_what_a_failure_is(self):
        result = self.rdb("record", "--until-fail", "-n", "3", "--detect", 'test "$RDB_STATUS" = 0 -a -d "$RDB_TRACE"',
                          "/bin/true", status=0)
        self.assertIn("run 1 failed", result.err)

    def test_a_time_that_is_none_is_refused(self):
        result = self.rdb("record", "--until-fail", "--for", "soon", "/bin/true", status=2)
        self.assertIn("--for soon", result.err)


if __name__ == "__main__":
    harness.main()
