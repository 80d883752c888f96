# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a recording costs in bytes: of log before compression, and of the recorder's memory."""
import glob
import os
import re
import struct
import subprocess

import harness

FILE_HEADER = 64
BLOCK_HEADER = struct.Struct("<IIQIIQQQIIQIIQQ")  # see docs/trace-format.md
MIB = 1 << 20


def raw_size(path):
    """Bytes of a log's records and hashes, as they are without compression."""
    total = 0
    with open(path, "rb") as file:
        file.seek(FILE_HEADER)
        while len(header := file.read(BLOCK_HEADER.size)) == BLOCK_HEADER.size:
            magic, _, _, stored, raw, *_, hashes, _, _ = BLOCK_HEADER.unpack(header)
            assert magic == 0x4B4C4252
            total += raw + hashes
            file.seek(stored, os.SEEK_CUR)
    return total


class LogSize(harness.TestCase):
    def check(self, argv, calls_at_least, **how):
        self.rdb("record", "-o", "trace", "--", *argv, status=0, **how)
        dump = self.rdb("dump", "--inputs", "trace", status=0).out
        calls = len(re.findall(r"^ *[0-9.]+ +\d+ +syscall ", dump, re.MULTILINE))
        # Whatever was written into guest memory, at its start and by calls.
        inputs = sum(int(size, 16) for size in re.findall(r"[ \[]0x[0-9a-f]+\+0x([0-9a-f]+):", dump))
        self.assertGreater(calls, calls_at_least)
        size = raw_size(glob.glob(self.path("trace/*/inputs"))[0])
        self.assertGreater(size, inputs)
        self.assertLessEqual(size, 1.1 * inputs + 24 * calls,
                             f"{size} bytes for {calls} calls and {inputs} bytes of input")

    def test_many_small_reads(self):
        text = self.write("text", "".join(f"line {i * 7919 % 1000}\n" for i in range(30000)))
        self.check(["/usr/bin/dd", f"if={text}", "of=/dev/null", "bs=16", "status=none"], 20000)

    def test_calls_without_input(self):
        self.check(["/usr/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=20000", "status=none"], 40000)

    def test_large_reads(self):
        with open(self.path("large"), "wb") as file:
            file.write(os.urandom(3 * MIB))
        self.check(["/usr/bin/md5sum", self.path("large")], 50)

    def test_an_interpreter(self):
        self.check(["/usr/bin/python3", "-c", "import json, re, decimal; print(len(open('/proc/self/maps').read()) > 0)"], 200)

    def test_writes(self):
        self.check(["/usr/bin/seq", "200000"], 300)


class RecorderMemory(harness.TestCase):
    def peak(self, script):
        """The recorder's own peak, in bytes, when `script` has come to its end."""
        argv = [harness.rdb(), "record", "-o", self.path("trace"), "--", "/bin/sh", "-c", script + "\necho done; read line"]
        with subprocess.Popen(argv, cwd=self.tmp, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as recorder:
            self.assertEqual(recorder.stdout.readline(), b"done\n")
            with open(f"/proc/{recorder.pid}/status", encoding="ascii") as status:
                found = int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) * 1024
            _, errors = recorder.communicate(b"\n", timeout=60)
        self.assertEqual(recorder.returncode, 0, errors)
        self.run_program(["/usr/bin/rm", "-rf", self.path("trace")], status=0)
        return found

    def test_is_bounded(self):
        # Memory that is shared with the guests counts as the recorder's where it has looked at it.
        idle = self.peak(":")
        much = self.peak("dd if=/dev/urandom of=/dev/null bs=1M count=150 status=none")
        many = self.peak("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do dd if=/dev/urandom of=/dev/null bs=64k count=60 "
                         "status=none & done; wait")
        self.assertLess(much - idle, 64 * MIB, f"{idle >> 20} MiB, then {much >> 20}")
        self.assertLess(many - idle, 64 * MIB, f"{idle >> 20} MiB, then {many >> 20}")


if __name__ == "__main__":
    harness.main()
