# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A guide (its path is the argument): every output that it shows is what the command prints."""
import os
import sys

import harness

GUIDE = sys.argv.pop(1)


class Guide(harness.TestCase):
    def test_every_output_is_true(self):
        result = self.run_program([os.path.join(harness.SOURCE, "scripts", "walkthrough"), "--check",
                                   os.path.join(harness.SOURCE, GUIDE)],
                                  timeout=280, env={"TMPDIR": self.tmp})
        self.assertEqual(result.status, 0, result.out + result.err)
        self.assertRegex(result.out, r"^[1-9]\d* commands, 0 differ\n$")


if __name__ == "__main__":
    harness.main()
