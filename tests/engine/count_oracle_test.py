# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The oracle itself: programs whose instructions are counted by hand."""
import os
import re

import harness

EXIT = "mov $60, %eax; xor %edi, %edi; syscall\n"


class CountOracle(harness.TestCase):
    def count(self, body, *options, status=0):
        source = self.write("count.S", ".globl _start\n_start:\n" + body)
        self.run_program(["/usr/bin/as", "-o", "count.o", source], status=0)
        self.run_program(["/usr/bin/ld", "-Ttext=0x401000", "-o", "count", "count.o"], status=0)
        result = self.run_program([os.path.join(harness.BUILD, "tests", "count_native"), *options, self.path("count")],
                                  status=status)
        return int(re.search(r"native instructions: (\d+)", result.err).group(1))

    def test_straight_code_counts_the_exit_too(self):
        self.assertEqual(self.count(EXIT), 3)
        self.assertEqual(self.count("nop\n" * 10 + EXIT), 13)

    def test_loops(self):
        self.assertEqual(self.count("mov $10, %ecx\n1: dec %ecx\njnz 1b\n" + EXIT), 1 + 20 + 3)
        self.assertEqual(self.count("mov $7, %ecx\n1: loop 1b\n" + EXIT), 1 + 7 + 3)

    def test_a_repeated_string_instruction_counts_once(self):
        for count in 0, 1, 500:
            with self.subTest(count=count):
                body = f"mov ${count}, %ecx\nlea -1000(%rsp), %rdi\nrep stosb\n"
                self.assertEqual(self.count(body + EXIT), 3 + 3)
        self.assertEqual(self.count("mov $9, %ecx\nmov %rsp, %rdi\nmov %rsp, %rsi\nrepe cmpsq\nrep movsb\n" + EXIT), 5 + 3)

    def test_a_fault_does_not_count(self):
        self.assertEqual(self.count("nop\nnop\nud2\n", status=-4), 2)
        self.assertEqual(self.count("nop\nmov %eax, 0\n", status=-11), 1)

    def test_stepping_does_not_show_in_the_flags(self):
        # Loops once for each set bit of the trap flag in what pushf and syscall store.
        for store in "pushf; pop %rax", "pushfw; popw %ax", "mov $39, %eax; syscall; mov %r11, %rax":
            with self.subTest(store=store):
                lines = store.count(";") + 1
                self.assertEqual(self.count(f"{store}\nbt $8, %eax\njnc 1f\nud2\n1: " + EXIT), lines + 2 + 3)

    def test_between_two_addresses(self):
        body = "nop\nnop\nmov $5, %ecx\n1: loop 1b\nnop\n" + EXIT
        self.assertEqual(self.count(body, "--between", "0x401002", "0x401009"), 1 + 5)


if __name__ == "__main__":
    harness.main()
