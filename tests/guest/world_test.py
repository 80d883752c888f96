# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program finds out about itself, its signals and its children is the same natively, under rdb run, and
in a recording and its replay."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

RECORDED = ["hidden"]
LIVE_ONLY = ["seccomp"]


class World(harness.TestCase):
    def native(self, name):
        result = self.run_program([harness.target("world_" + name)])
        self.assertGreater(len(result.out.splitlines()), 2, str(result))
        return result

    def test_live(self):
        for name in RECORDED + LIVE_ONLY:
            with self.subTest(name):
                native = self.native(name)
                live = self.run_program([harness.rdb(), "run", harness.target("world_" + name)])
                self.assertEqual(live.out, native.out)
                self.assertEqual(live.status, native.status)

    def test_recorded_and_replayed(self):
        for name in RECORDED:
            with self.subTest(name):
                native = self.native(name)
                trace = self.path(name)
                recorded = self.run_program([harness.rdb(), "record", "-q", "--checksum", "-o", trace,
                                             harness.target("world_" + name)])
                self.assertEqual(recorded.out, native.out)
                self.assertEqual(recorded.status, native.status)
                replayed = self.run_program([harness.rdb(), "replay", trace])
                self.assertEqual(replayed.out, native.out, str(replayed))
                self.assertEqual(replayed.status, native.status)


if __name__ == "__main__":
    harness.main()
