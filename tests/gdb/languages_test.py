# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings of C++ programs, of libraries that are loaded late, and of large programs from elsewhere."""
import os
import shutil

from remote import RecordingTestCase, ServedTestCase, harness


class Cpp(RecordingTestCase):
    target = "gdb/cpp"
    arguments = (harness.target("gdb/plugin.so"),)
    status = 13

    def test_objects_and_containers(self):
        out = self.answers("break Square::area", "continue", "print *this", "up", "print ages", "print *shape.get()",
                           "delete", "break 'largest<int>'", "continue", "print values", "finish", "reverse-continue",
                           "info locals")
        self.assertIn("Square::area (this=0x", out[1])
        self.assertIn("side = 3", out[2])
        self.assertIn('{["ann"] = 30, ["bob"] = 20}', out[4])
        self.assertIn("vtable for Square", out[5])
        self.assertIn("largest<int>", out[8])
        self.assertIn("{3, 9, 4, 30}", out[9])
        self.assertIn("Value returned is", out[10])
        self.assertIn("largest<int>", out[11])

    def test_exceptions(self):
        out = self.answers("catch throw", "continue", "bt", "catch catch", "continue", "reverse-continue", "bt 3", "up",
                           "print left", "print depth_reached", "reverse-continue", "when", "info breakpoints",
                           "continue", "reverse-continue", "continue")
        self.assertIn("exception thrown", out[1])
        for line in ("descend (left=0)", "descend (left=3)", " main ("):
            self.assertIn(line, out[2])
        self.assertIn("exception caught", out[4])
        self.assertIn("exception thrown", out[5])
        self.assertIn("descend (left=0)", out[6])
        self.assertIn("= 0", out[8])
        self.assertIn("= 5", out[9])
        self.assertIn("No more reverse-execution history", out[10])
        self.assertIn("At 0,", out[11])
        self.assertIn("exception throw", out[12])
        self.assertIn("exception thrown", out[13])
        self.assertIn("No more reverse-execution history", out[14])
        self.assertIn("exception thrown", out[15])

    def test_a_library_that_is_loaded_late(self):
        out = self.answers("set breakpoint pending on", "break plugin.c:7", "tbreak scale", "continue", "print uses",
                           "continue", "print uses", "print depth_reached", "info symbol scale", "delete", "watch uses",
                           "continue", "reverse-continue", "delete", "reverse-next", "reverse-next", "tbreak main",
                           "reverse-continue", "tbreak scale", "continue", "goto start", "tbreak scale", "print caught",
                           "continue", "bt 2", "reverse-finish")
        self.assertIn("pending", out[1])
        self.assertIn("scale (by=39)", out[3])
        self.assertIn("Cannot find thread-local storage", out[4])  # no thread has used it yet
        self.assertIn("gdb/plugin.c:7", out[5])
        self.assertIn("= 41", out[6])
        self.assertIn("= 5", out[7])
        self.assertIn("gdb/plugin.so", out[8])
        self.assert_in_order(out[11], "Old value = 41", "New value = 42")
        self.assert_in_order(out[12], "Old value = 42", "New value = 41")
        self.assertIn("uses++", out[14])
        self.assertIn("// library", out[15])
        self.assertIn(" main (", out[17])
        self.assertIn("scale (by=39)", out[19])
        self.assertIn("_start ()", out[20])
        self.assertNotIn("pending", out[21])
        self.assertIn("= 0", out[22])
        self.assertIn("scale (by=39)", out[23])
        self.assertIn("#1 ", out[24])
        self.assertIn("// library", out[25])

    def test_calls_with_objects(self):
        out = self.answers("tbreak Square::area", "continue", "print area()", "up", "print shape->area()",
                           'print ages["bob"]', "print depth_reached = 9", "print ages.size()")
        self.assertIn("= 9", out[2])
        self.assertIn("= 9", out[4])
        self.assertIn("cannot be changed", out[6])


class OptimisedCpp(Cpp):
    target = "gdb/cpp_o2"

    def test_calls_with_objects(self):
        out = self.answers("catch throw", "continue", "up", "print depth_reached", "info locals", "info frame")
        self.assertIn("= 5", out[3])
        self.assertIn("saved rip", out[5].replace("caller of", "saved rip"))

    def test_objects_and_containers(self):
        out = self.answers("break largest<int>", "continue", "print values", "finish", "reverse-continue", "print values")
        self.assertIn("{3, 9, 4, 30}", out[2])
        self.assertIn("Value returned is", out[3])
        self.assertIn("largest<int>", out[4])
        self.assertIn("{3, 9, 4, 30}", out[5])


class ChangedProgram(ServedTestCase):
    answers = RecordingTestCase.answers

    def test_the_recorded_copy_is_shown(self):
        shutil.copy(harness.target("gdb/cpp"), self.path("prog"))
        self.rdb("record", "--", self.path("prog"), harness.target("gdb/plugin.so"), status=13)
        os.unlink(self.path("prog"))
        shutil.copy(harness.target("gdb/steps"), self.path("prog"))
        out = self.answers("set breakpoint pending on", "break Square::area", "continue", "up", "print ages",
                           "tbreak plugin.c:7", "continue", "print uses", "catch throw", "reverse-continue", "bt",
                           "info sharedlibrary")
        self.assertIn("Square::area (this=0x", out[2])
        self.assertIn('{["ann"] = 30, ["bob"] = 20}', out[4])
        self.assertIn("scale (by=39)", out[6])
        self.assertIn("= 41", out[7])
        self.assertIn("exception thrown", out[9])
        self.assertIn("descend (left=3)", out[10])
        self.assertIn("/root/", out[11])
        self.assertNotIn("Traceback", "".join(out))


class Python(ServedTestCase):
    answers = RecordingTestCase.answers

    def test_an_interpreter(self):
        script = self.write("sum.py", "import json\nprint(json.dumps({'sum': sum(range(10))}))\n")
        self.rdb("record", "--", "/usr/bin/python3", "-S", "-E", script, status=0)
        out = self.answers("catch syscall write", "continue", "bt 2", "delete", "break malloc", "reverse-continue",
                           "info symbol $pc", "finish", "reverse-stepi", "delete", "continue", "when-end", timeout=300)
        self.assertIn("call to syscall write", out[1])
        self.assertIn("write", out[2])
        self.assertIn("malloc", out[5] + out[6])
        self.assertIn('{"sum": 45}', out[10])
        self.assertIn("exited with status 0", out[10])


class Sqlite(ServedTestCase):
    answers = RecordingTestCase.answers

    def test_a_database(self):
        self.rdb("record", "--", "/usr/bin/sqlite3", self.path("db"),
                 "create table t(a); insert into t values(6),(7); select sum(a) from t;", status=0)
        out = self.answers("set breakpoint pending on", "break sqlite3_step", "continue", "continue", "when",
                           "reverse-continue", "info sharedlibrary", "watch *(long*)$rsp", "continue",
                           "reverse-continue", "delete", "continue", "catch syscall pwrite64", "reverse-continue",
                           timeout=300)
        self.assertIn("sqlite3_step", out[2])
        self.assertIn("sqlite3_step", out[5])
        self.assertIn("libsqlite3", out[6])
        self.assertIn("Old value", out[8])
        self.assertIn("13", out[11])
        self.assertIn("syscall pwrite64", out[13])


if __name__ == "__main__":
    harness.main()
