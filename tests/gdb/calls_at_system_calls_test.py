# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that gdb calls where the program is in a system call, and strings that gdb puts into its memory."""

from remote import RecordingTestCase, harness


class CallsAtSystemCalls(RecordingTestCase):
    def test_a_called_function_gives_its_own_result(self):
        registers = "info registers rax orig_rax rip rsp rflags"
        out = self.answers("catch syscall write", "continue", registers, "print (int)abs(-3)", "print add(20, 22)",
                           'print (int)printf("%d%c", 5, 10)', 'print (int)strcmp("b", "a") > 0', registers, "continue",
                           registers, "print (int)abs(-4)", registers, "continue")
        self.assertIn("call to syscall write", out[1])
        self.assertIn("-38", out[2])
        self.assertRegex(out[3], r"^\$\d+ = 3\n")
        self.assertRegex(out[4], r"^\$\d+ = 42\n")
        self.assertRegex(out[5], r"^5\n\$\d+ = 2\n")
        self.assertRegex(out[6], r"^\$\d+ = 1\n")
        self.assertEqual(out[7], out[2])  # as if nothing had been called
        self.assertIn("returned from syscall write", out[8])
        self.assertRegex(out[10], r"^\$\d+ = 4\n")
        self.assertEqual(out[11], out[9])
        self.assertIn("exited with status 7", out[12])

    def test_strings_in_the_programs_memory(self):
        out = self.answers("break factorial if n == 2", "continue", 'print (char*)"abc"', 'print *(char(*)[5])(char*)"wxyz"',
                           'print (long)strlen((char*)"four")', "print counter = 3", "print *&counter = 3",
                           'set var $s = (char*)"kept"', "print $s", "print counter", "delete", "continue")
        self.assertRegex(out[2], r'^\$\d+ = 0x[0-9a-f]+ "abc"\n')
        self.assertRegex(out[3], r'^\$\d+ = "wxyz"\n')
        self.assertRegex(out[4], r"^\$\d+ = 4\n")
        for refused in out[5], out[6]:  # what is the program's stays as it was recorded
            self.assertIn("a recorded run cannot be changed", refused)
        self.assertRegex(out[8], r'"kept"\n')
        self.assertRegex(out[9], r"^\$\d+ = 10\n")
        self.assertIn("exited with status 7", out[11])

    def test_strings_at_a_system_call(self):
        out = self.answers("catch syscall write", "continue", 'print (char*)"abc"', 'print (int)puts((char*)"shown")',
                           "print counter = 3", "continue")
        self.assertRegex(out[2], r'"abc"\n')
        self.assertTrue(out[3].startswith("shown\n"), out[3])
        self.assertIn("a recorded run cannot be changed", out[4])
        self.assertIn("returned from syscall write", out[5])

    def test_only_what_malloc_returned_can_be_written(self):
        # A function of the program that takes a size and returns a pointer is no malloc.
        out = self.answers("break factorial if n == 2", "continue", "print *(int*)memchr(&counter, counter, 4) = 7",
                           "print counter")
        self.assertIn("a recorded run cannot be changed", out[2])
        self.assertRegex(out[3], r"^\$\d+ = 10\n")


if __name__ == "__main__":
    harness.main()
