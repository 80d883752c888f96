# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The code that appends to the ring runs with the guest's registers and FS base in place: it must not touch vector
registers, thread-local storage or anything outside itself."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

LIBRARY = os.path.join(harness.BUILD, "rdbtool", "trace", "librdb_trace.a")
MEMBER = "log_producer.cc.o"


class ProducerCode(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.run_program(["/usr/bin/ar", "x", LIBRARY, MEMBER], status=0)

    def test_it_calls_nothing(self):
        out = self.run_program(["/usr/bin/nm", "-u", MEMBER], status=0).out
        self.assertEqual(out.split(), [])

    def test_general_registers_only_and_no_thread_local_storage(self):
        out = self.run_program(["/usr/bin/objdump", "-d", "--no-show-raw-insn", MEMBER], status=0).out
        self.assertIn("append", out)
        bad = [line for line in out.splitlines() if re.search(r"%([xyz]mm|mm|st|k[0-7]|fs|gs)\b|%[xyz]?mm\d", line)]
        self.assertEqual(bad, [])


if __name__ == "__main__":
    harness.main()
