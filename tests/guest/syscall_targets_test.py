# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The guests that exercise system calls run natively, and print the same facts every time."""

import harness

TARGETS = ["events", "faults", "files", "ipc", "memory", "process", "refused", "signals", "sockets", "terminal",
           "threads"]


class SyscallTargets(harness.TestCase):
    def test_facts_are_the_same_every_time(self):
        for name in TARGETS:
            with self.subTest(name):
                first = self.run_program([harness.target("syscalls/" + name)])
                self.assertEqual(first.status, 0, str(first))
                second = self.run_program([harness.target("syscalls/" + name)])
                self.assertEqual(first.out, second.out)
                self.assertGreater(len(first.out.splitlines()), 2)

    def test_all_adds_what_changes(self):
        for name in TARGETS:
            with self.subTest(name):
                facts = self.run_program([harness.target("syscalls/" + name)])
                everything = self.run_program([harness.target("syscalls/" + name), "all"])
                self.assertEqual(everything.status, 0, str(everything))
                lines = iter(everything.out.splitlines())
                for fact in facts.out.splitlines():
                    self.assertIn(fact, lines)  # in this order


if __name__ == "__main__":
    harness.main()
