# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Some code of rdb runs while the program's FS base and vector registers are in place (rdb_guest_context_sources in
cmake/RdbTargets.cmake lists it): it must touch neither. The arguments are its object files."""
import os
import re
import sys

import harness

OBJECTS = [argument for argument in sys.argv[1:] if argument.endswith(".o")]
sys.argv = [argument for argument in sys.argv if argument not in OBJECTS]
OTHER_REGISTERS = r"%[fg]s\b|%[xyz]mm|%mm|%st\b|%k[0-7]\b|\b(ld|st)mxcsr\b"


class GuestContext(harness.TestCase):
    def test_the_list_is_whole(self):
        names = {os.path.basename(path) for path in OBJECTS}
        for name in ("log_producer.cc.o", "fast_syscall.cc.o", "answer_call_fast.cc.o", "fast_hook.cc.o", "fast_regions.cc.o",
                     "fast_events.cc.o", "fast_returns.cc.o", "fast_entries.cc.o"):
            self.assertIn(name, names)
        self.assertEqual(len([path for path in OBJECTS if path.endswith("/fast_syscall.cc.o")]), 3)

    def test_general_registers_only_and_no_thread_local_storage(self):
        for path in OBJECTS:
            code = self.run_program(["/usr/bin/objdump", "-dr", "--no-show-raw-insn", path], status=0).out
            self.assertIn("<_ZN3rdb", code)
            for line in code.splitlines():
                instruction = line.split("<")[0]
                self.assertNotRegex(instruction, OTHER_REGISTERS, path)
                self.assertNotRegex(line, r"R_X86_64_(TLS|TPOFF|GOTTPOFF|DTPOFF)", path)

    def test_debug_code_is_reached_through_functions_of_rdb(self):
        for path in OBJECTS:
            if "/rdb_debug.dir/" not in path:
                continue
            code = self.run_program(["/usr/bin/objdump", "-dr", "--no-show-raw-insn", path], status=0).out
            for line in code.splitlines():
                called = re.search(r"R_X86_64_PLT32\s+(\S+?)-0x", line)
                if called:
                    self.assertRegex(called.group(1), r"^_ZNK?3rdb", f"{path}: {line}")

    def test_the_producer_calls_nothing(self):
        producer = [path for path in OBJECTS if path.endswith("/log_producer.cc.o")]
        self.assertEqual(len(producer), 1)
        self.assertEqual(self.run_program(["/usr/bin/nm", "-u", producer[0]], status=0).out.split(), [])


if __name__ == "__main__":
    harness.main()
