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
        self.assertEqual(self.outputs(r"^cmp names names.clang$"), [""])

    def test_the_program_crashes_alone_and_inside_rdb(self):
        for out in self.outputs(r"^(rdb run )?\./names <names\.txt$"):
            self.assertTrue(out.endswith("(ended by SIGSEGV)"), out)

    def test_counts_are_the_same_each_time(self):
        counts = self.outputs(r"--stats")
        self.assertRegex(counts[0], r"^guest instructions: \d{4,}$")
        self.assertEqual(len(set(counts)), 1, counts)

    def test_large_programs_run(self):
        self.assertEqual(self.outputs(r"python3"), ["499500"])

    def test_nothing_is_left_behind(self):
        self.assertEqual(self.left, [])


if __name__ == "__main__":
    harness.main()
