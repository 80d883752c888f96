# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A damaged recording: every command that reads it names the damage, and ends with one status."""
import os
import re
import shutil

import harness
from forged_log import BLOCK, Log, forge_registers, forge_turn

DAMAGED = 2
FAILED = 125
HEADER = 64  # of a log file

SOURCE = harness.program_text(__file__, "damage_reports.c")


class DamageReports(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.write("prog.c", SOURCE)
        self.run_program(["/usr/bin/gcc", "-g", "-O0", "-o", "prog", "prog.c"], status=0)
        self.rdb("record", "-q", "-o", "whole", "./prog", status=7)
        self.process = self.processes("whole")[0][0]

    def playing(self):
        """Those that play the recording; here gdb's status counts, too."""
        return [("replay",), ("history", "i", "--at", "prog.c:8"), ("last-write", "total"), ("print", "@hit", "(int)$rdi"),
                ("gdb", "--", "-nx", "-batch", "-ex", "continue"), ("gdb", "--", "-nx", "-batch", "-ex", "goto end")]

    def commands(self):
        """Those that read the log, with what they do on a whole recording."""
        return [(("replay",), 7), (("history", "i", "--at", "prog.c:8"), 0), (("last-write", "total"), 0),
                (("last-write", "total", "--at", "prog.c:16"), 0), (("print", "@hit", "(int)$rdi"), 0),
                (("print", "--list", "prog.c:7-17"), 0), (("dump",), 0), (("dump", "--chunks"), 0)]

    def run_on(self, command, trace):
        name, *words = command
        # The trace stands where each takes it.
        if name == "print":
            words = [*words, trace] if words[0] == "--list" else [trace, *words]
        elif name in ("history", "last-write"):
            words = [words[0], trace, *words[1:]]
        elif name == "gdb":
            words = [trace, *words]
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

    def assert_all_end(self, status, pattern, commands=None):
        """Each with this status, and with one line about it."""
        for command in commands or self.playing():
            with self.subTest(command=command):
                result = self.run_on(command, "damaged")
                self.assertEqual(result.status, status, f"\n{result}")
                said = result.err + (result.out if command[0] == "gdb" else "")
                lines = [line for line in said.splitlines() if line.startswith("rdb: ")]
                self.assertRegex(lines[-1], pattern, f"\n{result}")
                notes = [line for line in lines if line.startswith(("rdb: gdb shows sources", "rdb: running the debug regions"))]
                self.assertEqual(1, len(lines) - len(notes), f"\n{result}")

    def assert_all_name(self, pattern, commands=None):
        for command, _ in commands or self.commands():
            with self.subTest(command=command):
                result = self.run_on(command, "damaged")
                self.assertEqual(result.status, DAMAGED, f"\n{result}")
                self.assertRegex(result.err, pattern, f"\n{result}")
                self.assertNotRegex(result.err, harness.WRONG_REPLAY)

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

    def test_a_stored_file_that_was_cut_off(self):
        def change(trace):
            files = os.path.join(trace, "files")
            largest = max((os.path.join(files, name) for name in os.listdir(files)), key=os.path.getsize)
            os.chmod(largest, 0o600)
            os.truncate(largest, os.path.getsize(largest) // 2)
        self.damaged(change)
        self.assert_all_end(DAMAGED,
                            r"^rdb: (print: )?\./damaged/files/.*: a file of the trace has another size than its name says")

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
        result = self.rdb("gdb", "damaged", "--", "-nx", "-batch", "-ex", "continue", status=DAMAGED)
        self.assertIn("inputs, offset 64: ", result.out + result.err)

    def record_again(self, *words):
        shutil.rmtree(self.path("whole"))
        self.rdb("record", "-q", "-o", "whole", "./prog", *words, status=7)
        self.process = self.processes("whole")[0][0]

    def test_a_block_in_the_middle(self):
        self.record_again("many")
        sizes = [BLOCK.size + block["stored_size"] for block in Log(self.log(self.path("whole"), "inputs")).blocks]
        self.assertGreater(len(sizes), 3)
        self.damaged(lambda trace: self.flip(self.log(trace, "inputs"), HEADER + sum(sizes[:2]) + 200))
        pattern = (r"^rdb: (print: )?the recording ends (here|at time \d+): "
                   r".*damaged after time \d+: .*damaged/\d+/inputs, offset \d+: ")
        self.assert_all_end(DAMAGED, pattern, [one for one in self.playing() if "goto end" not in one])
        # What comes before is shown.
        result = self.run_on(("history", "i", "--at", "prog.c:8"), "damaged")
        self.assertRegex(result.out, r"hit \(prog.c:8\)  0\n(.*\n){3}.*hit \(prog.c:8\)  4\n\Z", f"\n{result}")
        # A mistake in the question is told, too.
        result = self.run_on(("history", "i", "--at", "nowhere.c:1"), "damaged")
        self.assertEqual(result.status, DAMAGED)
        self.assertRegex(result.err, r"\Ardb: there is no nowhere.c:1 in the program, .*\nrdb: the recording ends at .*\n\Z")
        # As long as gdb does not come to the damage, all is well.
        self.rdb("gdb", "damaged", "--", "-nx", "-batch", "-ex", "stepi", status=0)
        self.rdb("gdb", "damaged", "--", "-nx", "-batch", "-ex", "goto end", status=DAMAGED)
        self.rdb("gdb", "damaged", "--", "-nx", "-batch", "-ex", "goto end", "-ex", "quit 3", status=DAMAGED)

    def test_a_turn_of_no_thread(self):
        self.damaged(lambda trace: forge_turn(self.log(trace, "chunks")))
        self.assert_all_end(DAMAGED,
                            r"^rdb: (print: )?\./damaged: damaged: a turn of thread \d+ at time \d+, which does not exist"
                            r"(\. The program is at time \d+ now, the last position before that)?$")
        # What comes before is shown.
        result = self.run_on(("gdb", "--", "-nx", "-batch", "-ex", "break hit", "-ex", "continue", "-ex", "print i", "-ex",
                              "delete", "-ex", "continue", "-ex", "when"), "damaged")
        self.assertIn("$1 = 0", result.out, f"\n{result}")
        self.assertRegex(result.out, r"(?m)^At \d+, thread \d+\.$", f"\n{result}")

    def test_a_replay_that_differs(self):
        self.damaged(lambda trace: forge_registers(self.log(trace, "inputs")))
        self.assert_all_end(FAILED, r"^rdb: (print: )?the replay differs from the recording at time [^\n]*"
                            r"Either somebody has changed the recording, or ")

    def test_gdb_stays_where_a_replay_still_agrees(self):
        """At the last position before the difference, whatever way led there; and it says so."""
        self.damaged(lambda trace: forge_registers(self.log(trace, "inputs")))
        said = self.rdb("replay", "damaged", status=FAILED).err
        time = re.search("differs from the recording at time ([0-9]+)", said)[1]
        for move in ("continue", "goto end", f"goto {int(time) + 1}"):
            with self.subTest(move):
                result = self.rdb("gdb", "damaged", "--", "-nx", "-batch", "-ex", move, "-ex", "when", "-ex", "bt", "-ex", "reverse-stepi",
                                  "-ex", "when", status=FAILED)
                self.assertIn(f"The program is at time {time} now, the last position before that", result.out + result.err, f"\n{result}")
                self.assertRegex(result.out, rf"(?m)^At {time}(\.\d+)?, thread", f"\n{result}")
                self.assertRegex(result.out, rf"At {int(time) - 1}(\.\d+)?, thread", f"\n{result}")
                self.assertRegex(result.out, r"(?m)^#\d+ .* main \(")

    def test_a_replay_that_differs_by_the_memory_of_others(self):
        self.record_again("shared", self.path("memory"))
        self.damaged(lambda trace: forge_registers(self.log(trace, "inputs")))
        self.assert_all_end(FAILED, r"^rdb: (print: )?not supported: memory shared with a program outside the recording: ")

    @harness.needs_compiler
    def test_modules(self):
        """Where both rdb replay and rdb gdb load one, both say the same and end with the same status."""
        self.write("regions.c", "#include <stdio.h>\nint main(void) {\nrdb_begin\n  puts(\"region\");\nrdb_end\n  return 7;\n}\n")
        self.run_program([harness.program("rdb-clang"), "-g", "regions.c", "-o", "regions"], status=0)
        self.rdb("record", "-q", "-o", "damaged", "./regions", status=7)
        module = self.path("regions.rdb/module.so")
        self.write("crashes.c", "static void __attribute__((constructor)) f(void) { *(volatile int *)0 = 1; }\n")
        self.write("ends.c", "static void __attribute__((constructor)) f(void) { __asm__(\"syscall\" :: \"a\"(231), "
                             "\"D\"(0)); }\n")
        both = [("replay",), ("gdb", "--", "-nx", "-batch", "-ex", "continue")]

        os.unlink(module)
        self.assert_all_end(DAMAGED, "^rdb: cannot load .*/module.so: it is not there, or damaged; build the program again", both)
        with open(module, "wb") as file:
            file.write(bytes(range(256)) * 20)
        self.assert_all_end(DAMAGED, "^rdb: cannot load .*/module.so: it is not there, or damaged; build the program again", both)
        self.run_program(["/usr/bin/gcc", "-shared", "-fPIC", "-o", module, "crashes.c"], status=0)
        self.assert_all_end(FAILED, r"^rdb: debug code crashed with signal 11 .*\(outside of any region\)", both)
        self.run_program(["/usr/bin/gcc", "-shared", "-fPIC", "-o", module, "ends.c"], status=0)
        self.assert_all_end(FAILED, "^rdb: the replay process has ended, perhaps by debug code: --no-module", both[1:])
        self.assert_all_end(FAILED, r"^rdb: cannot load .*regions\.rdb: its own code ended the process that loaded it; --no-module", both[:1])
        self.write("loops.c", "static void __attribute__((constructor)) f(void) { for (volatile int i = 0;; i++) {} }\n")
        self.run_program(["/usr/bin/gcc", "-shared", "-fPIC", "-o", module, "loops.c"], status=0)
        self.assert_all_end(FAILED, r"^rdb: debug code did not end within 0\.3 s .*\(outside of any region\)",
                            [("replay", "--region-timeout", "0.3")])


if __name__ == "__main__":
    harness.main()
