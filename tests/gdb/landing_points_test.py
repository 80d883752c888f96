# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where every command leads, from every instruction of a small program: exactly where it leads in a live program
that gdb itself has recorded."""
import json
import os

from remote import GDB, RecordingTestCase, harness

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "landing_points.py")


class LandingPoints(RecordingTestCase):
    target = "gdb/landing"
    status = 0

    def table(self, kind, argv):
        path = self.path(f"{kind}.json")
        result = self.run_program([*argv, "-nx", "-batch", "-x", SCRIPT], timeout=280,
                                  env={"RDB_LANDING_TABLE": path, "RDB_LANDING_KIND": kind})
        self.assertTrue(os.path.exists(path), result)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_all_commands_at_all_instructions(self):
        live = self.table("live", [GDB, self.program])
        recorded = self.table("rdb", [harness.rdb(), "gdb", "--"])
        self.assertEqual(live.keys(), recorded.keys())
        self.assertGreater(len(live), 600)
        # gdb's recording begins in main, rdb's before it.
        wrong = {key: (landing, recorded[key]) for key, landing in live.items()
                 if landing != recorded[key] and not landing.startswith("0 main")}
        self.assertEqual(wrong, {})


class LandingPointsInOptimisedCode(LandingPoints):
    target = "gdb/landing_o2"


if __name__ == "__main__":
    harness.main()
