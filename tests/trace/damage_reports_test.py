# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A damaged recording: every command that reads it names the damage, and ends with one status."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness

DAMAGED = 2
HEADER = 64  # of a log file

SOURCE = """
#include <stdio.h>
int total;
__attribute__((noinline)) void hit(int i) {
  total += i;
}
int main(void) {
  for (int i = 0; i < 5; i++) {
    hit(i);
    printf("%d\\n", i);
    fflush(stdout);
  }
  return 7;
}
"""


class DamageReports(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.write("prog.c", SOURCE)
        self.run_program(["/usr/bin/gcc", "-g", "-O0", "-o", "prog", "prog.c"], status=0)
        self.rdb("record", "-q", "-o", "whole", "./prog", status=7)
        self.process = self.processes("whole")[0][0]

    def commands(self):
        """Those that read the log, with what they do on a whole recording."""
        return [(("replay",), 7), (("history", "i", "--at", "prog.c:4"), 0), (("last-write", "total"), 0),
                (("last-write", "total", "--at", "prog.c:9"), 0), (("print", "@hit", "(int)$rdi"), 0),
                (("print", "--list", "prog.c:4-10"), 0), (("dump",), 0), (("dump", "--chunks"), 0)]

    def run_on(self, command, trace):
        name, *words = command
        # The trace stands where each takes it.
        if name == "print":
            words = [*words, trace] if words[0] == "--list" else [trace, *words]
        elif name in ("history", "last-write"):
            words = [words[0], trace, *words[1:]]
        else:
            words = [*words, trace]
        return self.rdb(name, *words)

    def damaged(self, change):
        shutil.rmtree(self.path("damaged"), ignore_errors=True)
        shutil.copytree(self.path("whole"), self.path("damaged"), symlinks=True)
        change(self.path("damaged"))

    def log(self, trace, name):
        return os.path.join(trace, self.process, name)

    def flip(self, path, offset):
        os.chmod(path, 0o600)
        with open(path, "r+b") as file:
            file.seek(offset, os.SEEK_END if offset < 0 else os.SEEK_SET)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ 0x10]))

    def assert_all_name(self, pattern, commands=None):
        for command, _ in commands or self.commands():
            with self.subTest(command=command):
                result = self.run_on(command, "damaged")
                self.assertEqual(result.status, DAMAGED, f"\n{result}")
                self.assertRegex(result.err, pattern, f"\n{result}")
                self.assertNotIn("internal error", result.err)

    def test_a_whole_recording_has_no_damage(self):
        for command, status in self.commands():
            with self.subTest(command=command):
                result = self.run_on(command, "whole")
                self.assertEqual(result.status, status, f"\n{result}")
                self.assertNotIn("damaged", result.err)

    def test_a_byte_of_the_log(self):
        self.damaged(lambda trace: self.flip(self.log(trace, "inputs"), -200))
        inputs = [one for one in self.commands() if one[0] != ("dump", "--chunks")]
        self.assert_all_name(r"damaged after time \d+: \./damaged/\d+/inputs, offset \d+: ", inputs)

    def test_the_header_of_the_log(self):
        self.damaged(lambda trace: self.flip(self.log(trace, "inputs"), 20))
        inputs = [one for one in self.commands() if one[0] != ("dump", "--chunks")]
        self.assert_all_name(r"damaged/\d+/inputs, offset 0: the checksum of the file header does not match", inputs)

    def test_a_log_that_was_cut_off(self):
        size = os.path.getsize(self.log(self.path("whole"), "inputs"))
        for length in (HEADER, HEADER + 10, size - 100):
            with self.subTest(length=length):
                self.damaged(lambda trace: os.truncate(self.log(trace, "inputs"), length))
                inputs = [one for one in self.commands() if one[0] != ("dump", "--chunks")]
                self.assert_all_name(r"damaged/\d+/inputs, offset \d+: ", inputs)

    def test_the_log_of_turns(self):
        self.damaged(lambda trace: self.flip(self.log(trace, "chunks"), HEADER + 90))
        self.assert_all_name(r"damaged/\d+/chunks, offset \d+: ", [(("dump", "--chunks"), 0)])

    def test_a_stored_file(self):
        def change(trace):
            files = os.path.join(trace, "files")
            largest = max(os.listdir(files), key=lambda name: os.path.getsize(os.path.join(files, name)))
            self.flip(os.path.join(files, largest), 5000)
        self.damaged(change)
        replaying = [one for one in self.commands() if one[0][0] != "dump"]
        self.assert_all_name("damaged/files/.*: a file of the trace is damaged: its hash does not match", replaying)

    def test_a_stored_file_that_is_missing(self):
        def change(trace):
            files = os.path.join(trace, "files")
            os.unlink(os.path.join(files, max(os.listdir(files), key=lambda name: os.path.getsize(os.path.join(files, name)))))
        self.damaged(change)
        replaying = [one for one in self.commands() if one[0][0] != "dump"]
        self.assert_all_name("damaged/files/.*: a file of the trace is missing", replaying)

    def test_what_describes_the_recording(self):
        self.damaged(lambda trace: self.flip(os.path.join(trace, "metadata.json"), 0))
        self.assert_all_name("damaged/metadata.json: damaged at offset 0", [*self.commands(), (("info",), 0), (("ps",), 0)])

    def test_the_end_is_shown_by_others_too(self):
        self.damaged(lambda trace: os.truncate(self.log(trace, "inputs"), HEADER + 10))
        self.assertIn("inputs, offset 64: ", self.rdb("info", "damaged", status=DAMAGED).out)
        self.assertIn("damaged", self.rdb("ps", "damaged", status=DAMAGED).out)
        result = self.rdb("gdb", "damaged", "--", "-nx", "-batch", "-ex", "continue")
        self.assertIn("inputs, offset 64: ", result.out + result.err)


if __name__ == "__main__":
    harness.main()
