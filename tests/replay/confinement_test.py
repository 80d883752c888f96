# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A recorded program that takes rdb over can do nothing in a replay: the kernel holds rdb to what a replay needs."""
import os
import re

import harness

ENDED = re.compile(r"^rdb: the replay was ended when it made system call 83, which no replay makes: ", re.M)


class Confinement(harness.TestCase):
    def record_takeover(self):
        """Records it, and removes the directory that shows that it succeeded."""
        result = self.rdb("record", "-q", "-o", "t", harness.target("record/takeover"), "proof", status=0)
        self.assertRegex(result.out, r"\A[1-9]\d* overwritten\n\Z")
        os.rmdir(self.path("proof"))

    def test_replay(self):
        self.record_takeover()
        result = self.rdb("replay", "t", status=125)
        self.assertRegex(result.err, ENDED)
        self.assertFalse(os.path.exists(self.path("proof")))

    def test_replay_that_watches_memory(self):
        self.record_takeover()
        self.assertRegex(self.rdb("replay", "--trace-syscalls", "t", status=125).err, ENDED)
        self.assertFalse(os.path.exists(self.path("proof")))

    def test_gdb(self):
        self.record_takeover()
        self.assertRegex(self.rdb("gdb", "t", "--", "--batch", "-ex", "continue").err, ENDED)
        self.assertFalse(os.path.exists(self.path("proof")))

    def test_history(self):
        self.record_takeover()
        self.assertRegex(self.rdb("history", "--at", "main", "copies", "t").err, ENDED)
        self.assertFalse(os.path.exists(self.path("proof")))

    def test_print_list(self):
        self.record_takeover()
        self.assertRegex(self.rdb("print", "--list", "takeover.c:1-40", "t", status=125).err, ENDED)
        self.assertFalse(os.path.exists(self.path("proof")))


if __name__ == "__main__":
    harness.main()
