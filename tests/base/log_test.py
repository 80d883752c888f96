# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""RDB_LOG: lines for maintainers, by topic."""
import re

import harness


class Log(harness.TestCase):
    def topics(self, result):
        return set(re.findall(r"(?m)^rdb\[\d+\] (\w+): ", result.err))

    def test_nothing_is_logged_unasked(self):
        self.assertEqual(self.rdb("run", "/bin/true", status=0).err, "")

    def test_only_what_was_asked_for(self):
        env = {"RDB_LOG": "engine,trace"}
        recorded = self.rdb("record", "-o", "t", "/bin/echo", "hello", env=env, status=0)
        self.assertEqual(recorded.out, "hello\n")
        self.assertEqual(self.topics(recorded), {"engine", "trace"})
        self.assertRegex(recorded.err, r"(?m)^rdb\[\d+\] engine: translates \d+ instructions at 0x")

    def test_all(self):
        env = {"RDB_LOG": "all"}
        self.assertEqual(self.topics(self.rdb("record", "-o", "t", "/bin/sh", "-c", "kill -USR1 $$", env=env, status=-10)),
                         {"engine", "guest", "record", "trace"})
        replayed = self.rdb("replay", "t", env=env, status=-10)
        self.assertEqual(self.topics(replayed), {"engine", "guest", "replay"})
        self.assertRegex(replayed.err, r"(?m)replay: time \d+, thread \d+: applies a signal$")
        packets = self.rdb("gdb", "t", "--", "-batch", "-ex", "stepi", env={"RDB_LOG": "gdb"})
        self.assertRegex(packets.err, r"(?m)^rdb\[\d+\] gdb: packet qSupported:")

    def test_a_word_that_is_no_topic(self):
        result = self.rdb("ls", env={"RDB_LOG": "engine,nothing"}, status=2)
        self.assertEqual(result.err, "rdb: RDB_LOG: there is no topic 'nothing'; there are engine, guest, record, replay, "
                                     "trace, debug, gdb and all\n")


if __name__ == "__main__":
    harness.main()
