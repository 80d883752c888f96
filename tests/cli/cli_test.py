# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rdb command itself: help, version, and what it answers to wrong use."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness


class Cli(harness.TestCase):
    def test_version_is_one_line(self):
        result = self.rdb("--version", status=0)
        self.assertRegex(result.out, r"\Ardb \d+\.\d+\.\d+\n\Z")

    def test_wrong_use_has_status_2(self):
        self.rdb("--no-such-option", status=2)


if __name__ == "__main__":
    harness.main()
