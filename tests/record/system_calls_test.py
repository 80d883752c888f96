# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A guest for each class of system calls: recorded with the page check on, which stops at a call that changes memory
which the table of system calls does not announce, and replayed."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

CLASSES = ["events", "faults", "files", "ipc", "signals", "sockets", "terminal"]


class SystemCalls(harness.TestCase):
    def check(self, argv, *options):
        recorded = self.rdb("record", "--checksum", *options, "-o", self.path("trace"), "--", *argv)
        self.assertNotEqual(recorded.status, 125, f"\n{recorded}")
        replayed = self.rdb("replay", "--no-module", self.path("trace"))
        self.assertEqual(replayed.out, recorded.out, f"\n{replayed}")
        self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")
        return recorded

    def test_a_file_changed_while_it_is_mapped(self):
        recorded = self.check([harness.target("rec_mapped_files")])
        self.assertEqual(len(recorded.out.splitlines()), 11)

    def test_output_that_is_never_in_memory(self):
        recorded = self.check([harness.target("rec_passed_output")])
        self.assertEqual(recorded.out.count("\n"), 4)

    def test_what_goes_to_the_null_device_is_not_shown(self):
        self.check(["/bin/sh", "-c", "echo seen; echo unseen > /dev/null"])


def add_tests():
    for name in CLASSES:
        # Guests print the same facts every time; with `all` also those that change.
        setattr(SystemCalls, f"test_{name}",
                lambda self, name=name: self.check([harness.target(f"sys_{name}"), "all"], "--check-pages"))
        setattr(SystemCalls, f"test_{name}_quickly",
                lambda self, name=name: self.check([harness.target(f"sys_{name}"), "all"]))


add_tests()

if __name__ == "__main__":
    harness.main()
