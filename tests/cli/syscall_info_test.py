# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rdb info --syscalls shows what becomes of every system call, and needs no recording for it."""

import harness


class SyscallInfo(harness.TestCase):
    def test_every_call_has_a_line(self):
        lines = self.rdb("info", "--syscalls", status=0).out.splitlines()
        numbers = [int(line.split()[0]) for line in lines[1:] if line.split()[0].isdigit()]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertLessEqual(set(range(335)) | set(range(424, 470)), set(numbers))

    def test_refusals_have_a_reason(self):
        out = self.rdb("info", "--syscalls", status=0).out
        clone3 = next(line for line in out.splitlines() if " clone3 " in line)
        self.assertIn("refused", clone3)
        self.assertIn("ENOSYS: libraries fall back to clone", clone3)

    def test_does_not_go_with_a_recording(self):
        self.assertEqual(self.rdb("info", "--syscalls", "prog-0").status, 2)


if __name__ == "__main__":
    harness.main()
