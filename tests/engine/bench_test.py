# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/run itself, with a fake rdb in place of the real one: ratios, wrong output, missing modes, the files it writes.
No time is checked."""
import csv
import os
import xml.etree.ElementTree as ElementTree

import harness

FAKE = """#!/bin/sh
if [ "$1" = help ]; then printf 'Commands:\\n  run      runs\\n'; exit 0; fi
shift 2
%s
"""


class Bench(harness.TestCase):
    def bench(self, body, *options):
        fake = self.write("rdb", FAKE % body)
        os.chmod(fake, 0o755)
        result = self.run_program([os.path.join(harness.SOURCE, "bench", "run"), "--rdb", fake, "--rounds", "1",
                                   "--rows", "^ls$", "--more", "--out", self.path("out"), *options], status=0)
        with open(self.path("out/bench.csv"), encoding="utf-8") as file:
            return result, {line["mode"]: line for line in csv.DictReader(file)}

    def test_a_mode_that_works_has_numbers(self):
        result, lines = self.bench('exec "$@"')
        self.assertGreater(float(lines["rdb run"]["wall_ratio"]), 0)
        self.assertEqual(lines["rdb run"]["note"], "")
        self.assertIn("left out: rdb record: this rdb has no 'record'", result.err)
        self.assertRegex(result.out, r"\| ls \| [0-9.]+ \| [0-9.]+ / [0-9.]+, [+-][0-9.]+ ms of CPU \|")
        ElementTree.parse(self.path("out/bench.svg"))

    def test_other_output_is_wrong_and_has_no_numbers(self):
        _, lines = self.bench('echo; exec "$@"')
        self.assertEqual(lines["rdb run"]["note"], "wrong output")
        self.assertEqual(lines["rdb run"]["cpu_s"], "")

    def test_a_failure_shows_its_reason(self):
        _, lines = self.bench("echo rdb: it broke >&2; exit 125")
        self.assertEqual(lines["rdb run"]["note"], "status 125 rdb: it broke")


if __name__ == "__main__":
    harness.main()
