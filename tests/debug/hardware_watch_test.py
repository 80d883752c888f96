# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes to a few small ranges are told by the CPU's breakpoints where the kernel grants them, and by checks in the
translated code elsewhere: whoever tells, the same events come, at the same times, with the same bytes and registers."""

import harness

# Every way to write, each more than once so that it runs in blocks, in traces and alone.
WAYS = harness.program_text(__file__, "hardware_watch/ways.c")

# More writes than the CPU's word is worth; threads that write in turns.
OFTEN = harness.program_text(__file__, "hardware_watch/often.c")


@harness.needs_compiler
class HardwareWatches(harness.TestCase):
    def both(self, source, *flags):
        """What a replay prints, whoever tells of writes."""
        self.write("prog.c", source)
        self.run_program([harness.program("rdb-clang"), "-g", *flags, "-o", "prog", "prog.c"], status=0)
        self.write("input", "abcdefghijkl")
        self.run_program(["/bin/rm", "-rf", self.path("trace")])
        command = f"{harness.rdb()} record --checksum=calls -q -o trace -- ./prog 3<input"
        self.run_program(["/bin/sh", "-c", command], status=0)
        seen = {}
        for word in ("0", "1"):
            command = f"RDB_HARDWARE_WATCH={word} {harness.rdb()} replay trace"
            seen[word] = self.run_program(["/bin/sh", "-c", command], status=0).out
        self.assertEqual(seen["0"], seen["1"])
        return seen["1"].splitlines()

    def test_every_way_to_write(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                lines = self.both(WAYS, level)
                for name, least in {"eight": 300, "one": 30, "heap": 20, "stack": level == "-O0"}.items():
                    self.assertGreaterEqual(sum(line.startswith(name + " ") for line in lines), least, name)

    def test_many_writes_by_threads(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                self.assertEqual(self.both(OFTEN, level, "-pthread")[0].split()[0], "12000")


if __name__ == "__main__":
    harness.main()
