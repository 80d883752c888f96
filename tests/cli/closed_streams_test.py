# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Standard streams that are closed or full, and readers that do not want all of it."""
import os
import signal
import subprocess

import harness

# Prints its open descriptors below 10 to the file named, and ends with 3.
DESCRIPTORS = "for i in 0 1 2 3 4 5 6 7 8 9; do if { true <&$i; } 2>/dev/null; then echo $i; fi; done >\"$0\"; exit 3"


class ClosedStreams(harness.TestCase):
    def shell(self, command, **how):
        """Runs a line of shell with $RDB; every process of it must end with it."""
        return self.run_program(["/bin/sh", "-c", command], env={"RDB": harness.rdb()}, **how)

    def test_the_programs_status_is_kept(self):
        for streams in ("2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full", ">/dev/full", ">/dev/full 2>/dev/full",
                        "<&-"):
            with self.subTest(streams):
                for command in ("run", "record -o t"):
                    self.shell(f"rm -rf t; exec $RDB {command} /bin/sh -c 'exit 3' {streams}", status=3)
                    self.shell(f"rm -rf t; exec $RDB {command} /bin/sh -c 'kill -TERM $$' {streams}", status=-15)
                self.shell(f"exec $RDB replay t {streams}", status=-15)

    def test_output_that_nobody_can_see(self):
        self.shell("exec $RDB record -q -o t /bin/sh -c 'echo out; echo error >&2; exit 3'", status=3)
        for streams in (">&-", "2>&-", ">&- 2>&-", "2>/dev/full"):
            self.shell(f"exec $RDB replay t {streams}", status=3)
        # Who has closed the stream is told, who has no room for it gets an error.
        self.assertEqual(self.shell("exec $RDB replay t >&-", status=3).err,
                         "error\nrdb: the program's output is not shown: standard output is closed\n")
        self.assertEqual(self.shell("exec $RDB replay --quiet t >&-", status=3).err, "")
        self.assertEqual(self.shell("exec $RDB replay t >/dev/full", status=125).err,
                         "error\nrdb: the program's output was lost in part: No space left on device\n")

    def test_what_went_to_the_null_device_is_not_shown(self):
        self.shell("exec $RDB record -q -o t /bin/echo out >/dev/null", status=0)
        self.assertEqual(self.rdb("replay", "t", status=0).out, "")
        self.shell("rm -rf t; exec $RDB record -q -o t /bin/echo out >file", status=0)
        self.assertEqual(self.rdb("replay", "t", status=0).out, "out\n")

    def test_the_program_finds_what_is_closed_closed(self):
        for closed in "", "<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-":
            with self.subTest(closed):
                self.shell(f"/bin/sh -c '{DESCRIPTORS}' native {closed}", status=3)
                with open(self.path("native"), encoding="ascii") as file:
                    native = file.read()
                for command in ("run", "record -q -o t"):
                    self.shell(f"rm -rf t; exec $RDB {command} /bin/sh -c '{DESCRIPTORS}' seen {closed}", status=3)
                    with open(self.path("seen"), encoding="ascii") as file:
                        self.assertEqual(file.read(), native, f"{command} {closed}")
                self.shell(f"exec $RDB replay t {closed}", status=3)

    def test_nothing_of_rdbs_ends_in_a_file_of_the_trace(self):
        self.shell("exec $RDB record -o t /bin/echo hello >&- 2>&- <&-")
        for folder, _, names in os.walk(self.path("t")):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(b"it may hold secrets", file.read(), name)

    def test_commands_that_cannot_print_say_so(self):
        self.shell("exec $RDB record -q -o t /bin/true", status=0)
        for command in ("info t", "info --json t", "info --syscalls", "ps t", "dump t", "dump --chunks t", "dump --files t",
                        "ls", "doctor", "completion bash", "verify /bin/true /bin/true", "help", "help record", "--version"):
            for closed in ">/dev/full", ">&-":
                with self.subTest(command, closed=closed):
                    result = self.shell(f"exec $RDB {command} {closed}", status=125)
                    self.assertRegex(result.err, r"(\A|\n)rdb: cannot write to standard output: [^\n]+\n\Z")
            self.shell(f"exec $RDB {command} >/dev/full 2>/dev/full", status=125)
            self.shell(f"exec $RDB {command} 2>/dev/full", status=0)
        for packed in "/dev/full", "/proc/self/fd/1":
            for command in f"pack t {packed}", f"dump --chunks --picture {packed} t":
                result = self.shell(f"exec $RDB {command} >/dev/full", status=125)
                self.assertRegex(result.err, r"\Ardb: [^\n]*No space left on device\n\Z")
        self.shell("exec $RDB info nowhere 2>/dev/full", status=2)
        self.shell("exec $RDB info nowhere 2>&-", status=2)


class AnswersThatCannotBeWritten(harness.TestCase):
    """history, last-write and print: what they found is lost, and so they say."""

    def setUp(self):
        super().setUp()
        source = self.write("hits.c", harness.program_text(__file__, "hits.c").replace("HITS", "20"))
        self.run_program(["/usr/bin/gcc", "-g", "-O0", "-o", "hits", source], status=0)
        self.rdb("record", "-q", "-o", "t", "./hits", status=0)

    def shell(self, command, **how):
        return self.run_program(["/bin/sh", "-c", f"exec $RDB {command}"], env={"RDB": harness.rdb()}, **how)

    def check(self, *commands):
        for command in commands:
            for streams in ">/dev/full", ">&-":
                with self.subTest(command, streams=streams):
                    result = self.shell(f"{command} {streams}", status=125)
                    self.assertRegex(result.err, r"(\A|\n)rdb: cannot write to standard output: [^\n]+\n\Z")
                    self.assertNotRegex(result.err, "Python|Traceback|Errno")
            for streams in ">/dev/full 2>/dev/full", ">&- 2>&-":
                with self.subTest(command, streams=streams):
                    self.shell(f"{command} {streams}", status=125)

    def test_gdb(self):
        self.check("history i t --at hits.c:3", "last-write total t", "print t @hit '(int)$rdi'")
        for streams in "2>/dev/full", "2>&-":
            self.shell(f"history nothing t --at hits.c:3 {streams}", status=2)
            self.shell(f"last-write nothing t {streams}", status=2)

    @harness.needs_compiler
    def test_regions(self):
        self.run_program([harness.program("rdb-clang"), "-g", "-O0", "-o", "hits2", "hits.c"], status=0)
        self.rdb("record", "-q", "-o", "t2", "./hits2", status=0)
        self.check("print t2 hits.c:3 i", "print --list hits.c t2")


class EndedOnTheWay(harness.TestCase):
    """What a question has started is ended by somebody: one line says so, and the status."""

    def setUp(self):
        super().setUp()
        source = self.write("hits.c", harness.program_text(__file__, "hits.c").replace("HITS", "3000000"))
        self.run_program(["/usr/bin/gcc", "-g", "-O0", "-o", "hits", source], status=0)
        self.rdb("record", "-q", "-o", "t", "./hits", status=0)

    def end(self, name, number, *words):
        """Sends the signal to the processes of that name which the command has started, when its answer has begun;
        returns its messages and its status."""
        child = subprocess.Popen([harness.rdb(), *words], cwd=self.tmp, env=self.environment(), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.assertNotEqual(child.stdout.readline(), b"")
        started = self.children_of(child.pid, name)
        self.assertNotEqual(started, [])
        for process in started:
            os.kill(process, number)
        _, err = child.communicate(timeout=60)
        return err.decode(), child.returncode

    def children_of(self, process, name):
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
        found = []
        for child in children:
            with open(f"/proc/{child}/comm", encoding="utf-8") as file:
                if file.read() == name + "\n":
                    found.append(child)
        return found

    def test_gdb_is_told_to_end(self):
        """It ends with status 0, as if it had answered."""
        err, status = self.end("gdb", signal.SIGTERM, "history", "i", "t", "--at", "hits.c:3")
        self.assertEqual(err, "rdb: gdb ended (status 0) before it had given the whole answer: was it ended by a signal?\n")
        self.assertEqual(status, 125)

    def test_gdb_ends_before_it_begins(self):
        os.mkdir(self.path("bin"))
        self.write("bin/gdb", "#!/bin/sh\nexit 0\n")
        os.chmod(self.path("bin/gdb"), 0o755)
        for words in ("history", "i", "t", "--at", "hits.c:3"), ("last-write", "total", "t"), ("print", "t", "@hit", "total"):
            result = self.rdb(*words, env={"PATH": self.path("bin") + ":/usr/bin:/bin"}, status=125)
            self.assertEqual(result.err, "rdb: gdb ended (status 0) before it had given the whole answer: "
                             "was it ended by a signal?\n")

    def test_the_replay_is_killed(self):
        killed = "rdb: the replay process has ended; was it killed, or is there no memory?\n"
        err, status = self.end("rdb", signal.SIGKILL, "history", "i", "t", "--at", "hits.c:3")
        self.assertEqual((err, status), (killed, 125))

    def test_the_replay_is_killed_while_gdb_looks(self):
        """gdb takes what it cannot read for memory that is not there."""
        for words in ("last-write", "total", "t"), ("history", "total", "t", "--at", "hits.c:3"):
            os.makedirs(self.path("bin"), exist_ok=True)
            # Behind the connection, and before the question.
            self.write("kill.py", "import gdb, os\n"
                       "def stop(event):\n"
                       "    serves = os.getppid()\n"
                       "    for child in open(f'/proc/{serves}/task/{serves}/children').read().split():\n"
                       "        if open(f'/proc/{child}/comm').read() == 'rdb\\n': os.kill(int(child), 9)\n"
                       "gdb.events.stop.connect(stop)\n")
            self.write("bin/gdb", "#!/bin/sh\nexec /usr/bin/gdb -ex 'source kill.py' \"$@\"\n")
            os.chmod(self.path("bin/gdb"), 0o755)
            result = self.rdb(*words, env={"PATH": self.path("bin") + ":/usr/bin:/bin"}, status=125)
            self.assertEqual((result.out, result.err),
                             ("", "rdb: the replay process has ended; was it killed, or is there no memory?\n"))

    def test_what_finds_the_hits_is_killed(self):
        err, status = self.end("rdb", signal.SIGKILL, "print", "t", "@hit", "(int)$rdi")
        self.assertEqual(err, "rdb: print: the process that plays the recording was ended by SIGKILL: what comes after is "
                         "not shown\n")
        self.assertEqual(status, 137)


class ReadersThatLeave(harness.TestCase):
    """`| head -1`: rdb ends soon, and so does all that it has started."""

    def setUp(self):
        super().setUp()
        # So many hits that finding all of them takes far longer than a test may.
        source = self.write("hits.c", harness.program_text(__file__, "hits.c").replace("HITS", "3000000"))
        self.run_program(["/usr/bin/gcc", "-g", "-O0", "-o", "hits", source], status=0)
        self.rdb("record", "-q", "-o", "t", "./hits", status=0)

    def head(self, *words):
        """The first line and the status. All processes of the command end shortly after it: each has the pipe of
        standard error, whose end is waited for."""
        os.makedirs(self.path("tmp"), exist_ok=True)
        child = subprocess.Popen([harness.rdb(), *words], cwd=self.tmp,
                                 env=self.environment({"TMPDIR": self.path("tmp")}), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        first = child.stdout.readline()
        child.stdout.close()
        child.stdout = None
        try:
            child.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            listing = subprocess.run(["/bin/ps", "-eo", "pid,sid,args"], capture_output=True, text=True, check=False).stdout
            os.killpg(child.pid, signal.SIGKILL)
            self.fail(f"{words} does not end when nobody reads it any more\n{listing}")
        self.assertEqual(os.listdir(self.path("tmp")), [])
        return first.decode(), child.returncode

    def test_history(self):
        first, status = self.head("history", "i", "t", "--at", "hits.c:3")
        self.assertRegex(first, r"hits.c:3\)  0\n")
        self.assertIn(status, (141, -13))

    def test_print_by_debug_information(self):
        first, status = self.head("print", "t", "@hit", "(int)$rdi")
        self.assertIn("0", first)
        self.assertIn(status, (141, -13))

    def test_replay_and_dump(self):
        self.rdb("record", "-q", "-o", "many", "/usr/bin/seq", "200000", status=0)
        self.assertEqual(self.head("replay", "many")[0], "1\n")
        self.head("dump", "many")

    @harness.needs_compiler
    def test_print_by_regions(self):
        self.run_program([harness.program("rdb-clang"), "-g", "-O0", "-o", "hits2", "hits.c"], status=0)
        self.rdb("record", "-q", "-o", "t2", "./hits2", status=0)
        first, _ = self.head("print", "t2", "hits.c:3", "i")
        self.assertIn("i=0", first.replace(" ", ""))


if __name__ == "__main__":
    harness.main()
