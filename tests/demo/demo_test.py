# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/demo: runs to its end, and every step shows what the words around it say."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness


class Demo(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        case = cls("run_demo")
        case.setUp()
        case.addClassCleanup(case.doCleanups)
        case.run_demo()

    def run_demo(self):
        result = self.run_program([os.path.join(harness.SOURCE, "scripts", "demo"), "--no-build"], timeout=250, status=0,
                                  env={"TMPDIR": self.tmp})
        # What each command printed, by the command.
        type(self).steps = [part.partition("\n") for part in re.split(r"^\$ ", result.out, flags=re.MULTILINE)[1:]]
        type(self).left = [name for name in os.listdir(self.tmp) if name.startswith("rdb-demo")]

    def outputs(self, pattern):
        """The outputs of the commands that match, without the words before the next step."""
        found = [out.partition("\n#")[0].strip() for command, _, out in self.steps if re.search(pattern, command)]
        self.assertTrue(found, f"no step matches {pattern}: {[step[0] for step in self.steps]}")
        return found

    def test_rdb_clang_makes_clangs_program(self):
        self.assertEqual(self.outputs(r"^cmp names names.clang$"), ["", ""])

    def test_the_program_crashes_alone_recorded_and_replayed(self):
        alone, = self.outputs(r"^\./names <names\.txt$")
        self.assertTrue(alone.startswith("Cleo\nBartholomew\n"), alone)
        for out in alone, *self.outputs(r"^rdb record"), *self.outputs(r"^rdb replay$"):
            self.assertTrue("Cleo\nBartholomew\n" in out and out.endswith("(ended by SIGSEGV)"), out)

    def test_the_region_shows_the_cause(self):
        out, = self.outputs(r"^rdb replay --prefix$")
        hits = re.findall(r"(?m)^\[\d+ \d+ names\.c:17\] '(\w+)' takes (\d+) of 8 bytes; next is (\S+), should be (\S+)$", out)
        self.assertEqual([hit[:2] for hit in hits], [("Ann", "4"), ("Bartholomew", "12"), ("Cleo", "5")], out)
        self.assertEqual([hit[2] == hit[3] for hit in hits], [True, False, True], out)
        self.assertTrue(out.endswith("(ended by SIGSEGV)"), out)

    def test_the_recording_says_what_it_is(self):
        self.assertRegex(self.outputs(r"^rdb record")[0], r"\nrdb: recorded \d+ instructions, SIGSEGV, .* in .*/names-0 ")

    def test_the_recording_is_listed(self):
        self.assertRegex(self.outputs(r"^rdb ls$")[0], r"(?m)^names-0\b.*SIGSEGV")

    def test_a_time_names_the_same_moment_in_every_replay(self):
        stops = self.outputs(r"--to 100000")
        self.assertRegex(stops[0], r"^rdb: stopped at time 100000, pc 0x[0-9a-f]+$")
        self.assertEqual(len(stops), 2)
        self.assertEqual(stops[0], stops[1])

    def test_large_programs_run(self):
        self.assertEqual(self.outputs(r"python3"), ["499500"])

    def test_nothing_is_left_behind(self):
        self.assertEqual(self.left, [])


if __name__ == "__main__":
    harness.main()
