# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function does can be told when the program comes to it: run once more and undone, it takes the same number of
instructions as when the program runs it then, and leaves the same registers and memory. For every function of a program
and of its libraries; the tool repeat_calls compares."""
import os
import re

import harness

C = harness.program_text(__file__, "repeat_calls/mixed.c")
CXX = harness.program_text(__file__, "repeat_calls/mixed.cc")


class RepeatCalls(harness.TestCase):
    def repeat(self, name, source, *flags, compiler):
        self.write(name, source)
        self.run_program([compiler, *flags, "-o", "prog", name, "-lm"], status=0)
        self.run_program(["/bin/rm", "-rf", self.path("trace")])
        self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog", status=0)
        tool = os.path.join(harness.BUILD, "tests", "repeat_calls")
        counts = []
        for how in ([], ["loads"]):
            result = self.run_program([tool, self.path("trace"), "*", *how], status=0)
            counts.append({key: int(value) for key, value in re.findall(r"^([a-z ']+): (\d+)$", result.out, re.M)})
        for key in ("returned", "system call", "returned as told", "wrong"):
            self.assertEqual(counts[0][key], counts[1][key], key)
        self.assertEqual(counts[0]["wrong"], 0)
        return counts[0]

    def test_c(self):
        for flags in (["-O0"], ["-O2"], ["-O3", "-march=native"]):
            with self.subTest(flags=flags):
                counts = self.repeat("prog.c", C, *flags, compiler="/usr/bin/gcc")
                self.assertGreater(counts["returned as told"], 1000)

    def test_cxx(self):
        for flags in (["-O0"], ["-O2"]):
            with self.subTest(flags=flags):
                counts = self.repeat("prog.cc", CXX, *flags, compiler="/usr/bin/g++")
                self.assertGreater(counts["returned as told"], 5000)


if __name__ == "__main__":
    harness.main()
