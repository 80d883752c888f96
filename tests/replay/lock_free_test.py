# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A lock-free queue under many seeded schedules: each is recorded with hashes of the whole state and replays to the same
result; the schedules differ, and nothing is lost in any."""
import shutil

import harness

FULL = harness.take_flag("--full")


class LockFree(harness.TestCase):
    def test_seeded_schedules(self):
        orders = set()
        for seed in range(1000 if FULL else 50):
            with self.subTest(seed):
                recorded = self.rdb("record", "-q", "--chaos", "--seed", str(seed), "--checksum", "-o", self.path("trace"),
                                    harness.target("threads/queue"), status=0)
                replayed = self.rdb("replay", "--no-module", self.path("trace"), status=0)
                self.assertEqual(replayed.out, recorded.out)
                orders.add(recorded.out)
                shutil.rmtree(self.path("trace"))
        self.assertGreater(len(orders), 25)


if __name__ == "__main__":
    harness.main()
