# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signals that are sent to rdb record reach the program, once, whoever else was sent them; and the recording ends as the
program ends."""
import os
import pty
import signal
import subprocess

import harness

# Tells which signals come, until SIGTERM or the end of its input. Not with print(): Python refuses to enter it from a
# handler that came while it was flushing.
LISTENER = """
import os, signal, sys
def got(number, frame):
    os.write(1, b'got %d\\n' % number)
    if number == signal.SIGTERM: os._exit(7)
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGTERM):
    if number not in ignored: signal.signal(number, got)
os.write(1, b'ready\\n')
while os.read(0, 1): pass
os.write(1, b'end\\n')
os._exit(0)
"""


class SentSignals(harness.TestCase):
    def start(self, script, *, ignored=(), before=(), **how):
        command = [*before, harness.rdb(), "record", "-q", "-o", self.path("trace"), "/usr/bin/python3", "-c",
                   f"ignored = {ignored}\n{script}"]
        child = subprocess.Popen(command, cwd=self.tmp, env=self.environment(), stdin=how.get("stdin", subprocess.PIPE),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
                                 start_new_session=how.get("new_session", True), preexec_fn=how.get("first"))
        self.addCleanup(child.communicate)
        self.addCleanup(lambda: child.poll() is None and child.kill())
        self.expect(child, "ready")
        return child

    def expect(self, child, line):
        found = child.stdout.readline()
        if found != line + "\n":
            child.kill()
            self.fail(f"expected {line}, found {found}{child.stdout.read()}---\n{child.stderr.read()}")

    def check_replay(self, lines, status):
        replayed = self.rdb("replay", "--no-module", self.path("trace"), status=status)
        self.assertEqual(replayed.out, "".join(line + "\n" for line in lines))
        self.assertNotIn("the recording ends", replayed.err)

    def test_those_to_rdb_are_passed_on(self):
        child = self.start(LISTENER)
        names = [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGINT, signal.SIGTERM]
        for name in names:
            child.send_signal(name)
            self.expect(child, f"got {int(name)}")
        self.assertEqual(child.wait(), 7)
        self.check_replay(["ready", *(f"got {int(name)}" for name in names)], 7)

    def test_one_that_ends_the_program_is_the_end_of_the_recording(self):
        for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
            with self.subTest(name):
                child = self.start("import os; os.write(1, b'ready\\n'); os.read(0, 1)")
                child.send_signal(name)
                self.assertEqual(child.wait(), -name)
                self.check_replay(["ready"], -name)
                self.rdb("rm", self.path("trace"), status=0)

    def test_those_to_the_whole_group_come_once(self):
        child = self.start(LISTENER)
        os.killpg(child.pid, signal.SIGHUP)
        self.expect(child, "got 1")
        # Whatever rdb had passed on before this one would come first.
        child.send_signal(signal.SIGUSR1)
        self.expect(child, "got 10")
        os.killpg(child.pid, signal.SIGHUP)
        self.expect(child, "got 1")
        child.send_signal(signal.SIGUSR2)
        self.expect(child, "got 12")
        child.send_signal(signal.SIGHUP)
        self.expect(child, "got 1")
        self.assertEqual(child.communicate()[0], "end\n")
        self.check_replay(["ready", "got 1", "got 10", "got 1", "got 12", "got 1", "end"], 0)

    def of_the_session(self, child):
        """Numbers, names and command lines of rdb and of all processes in its session."""
        found = []
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and os.getsid(int(entry)) == child.pid:
                    with open(f"/proc/{entry}/comm", encoding="ascii") as comm, open(f"/proc/{entry}/cmdline", "rb") as cmdline:
                        found.append((int(entry), comm.read().strip(), cmdline.read().split(b"\0")))
            except OSError:
                pass  # it has ended
        return found

    def test_those_to_all_that_are_called_rdb_are_passed_on(self):
        """As killall(1) and pkill(1) find them, by name and by command line."""
        child = self.start(LISTENER)
        for find in (lambda name, words: name == "rdb", lambda name, words: "rdb" in name,
                     lambda name, words: os.path.basename(words[0]) == b"rdb"):
            found = self.of_the_session(child)
            self.assertGreater(len(found), 2, found)
            meant = [pid for pid, name, words in found if find(name, words)]
            self.assertEqual(meant, [child.pid], found)
            for pid in meant:
                os.kill(pid, signal.SIGUSR1)
            self.expect(child, "got 10")
        # By a word of the program's command line, which is in rdb's, too.
        for pid, _, words in self.of_the_session(child):
            if any(b"python3" in word for word in words):
                os.kill(pid, signal.SIGUSR2)
        self.expect(child, "got 12")
        child.send_signal(signal.SIGTERM)
        self.expect(child, "got 15")
        self.assertEqual(child.communicate()[0], "")
        self.check_replay(["ready", *["got 10"] * 3, "got 12", "got 15"], 7)

    def test_those_to_every_process_come_once(self):
        """As systemd does it with those of a service."""
        child = self.start(LISTENER)
        for _ in range(3):
            for pid, _, _ in self.of_the_session(child):
                os.kill(pid, signal.SIGHUP)
            self.expect(child, "got 1")
            child.send_signal(signal.SIGUSR1)
            self.expect(child, "got 10")
        self.assertEqual(child.communicate()[0], "end\n")
        self.check_replay(["ready", *["got 1", "got 10"] * 3, "end"], 0)

    def test_ctrl_c_comes_once(self):
        here, there = pty.openpty()

        def take_terminal():
            os.setsid()
            import fcntl
            import termios
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        child = self.start(LISTENER, stdin=there, new_session=False, first=take_terminal)
        os.close(there)
        os.write(here, b"\x03")
        self.expect(child, "got 2")
        child.send_signal(signal.SIGUSR1)
        self.expect(child, "got 10")
        os.write(here, b"\x04")  # the end of its input
        self.assertEqual(child.communicate()[0], "end\n")
        os.close(here)
        self.check_replay(["ready", "got 2", "got 10", "end"], 0)

    def test_those_of_the_program_are_not_sent_back(self):
        script = LISTENER.replace("os.write(1, b'ready\\n')", "os.kill(0, signal.SIGHUP); os.kill(os.getppid(), signal.SIGUSR2); "
                                                              "os.write(1, b'ready\\n')")
        command = [harness.rdb(), "record", "-q", "-o", self.path("trace"), "/usr/bin/python3", "-c", "ignored = ()\n" + script]
        child = subprocess.Popen(command, cwd=self.tmp, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True, start_new_session=True)
        self.expect(child, "got 1")
        self.expect(child, "ready")
        child.send_signal(signal.SIGALRM)
        self.expect(child, "got 14")
        self.assertEqual(child.communicate()[0], "end\n")
        self.check_replay(["got 1", "ready", "got 14", "end"], 0)

    def test_a_second_one_ends_the_recording(self):
        child = self.start(LISTENER.replace("if number == signal.SIGTERM: os._exit(7)", ""))
        sent = 0
        while child.poll() is None and sent < 100:  # two within a second, however slow the machine is
            child.send_signal(signal.SIGTERM)
            sent += 1
            try:
                child.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                pass
        self.assertIn("ended early: ended by a second SIGTERM", child.stderr.read())
        replayed = self.rdb("replay", self.path("trace"), status=0)
        self.assertTrue(("ready\n" + "got 15\n" * sent).startswith(replayed.out), f"\n{replayed}")
        self.assertIn("the recording ends", replayed.err)

    def test_one_to_rdb_and_its_group_counts_once(self):
        child = self.start(LISTENER.replace("os._exit(7)", "pass"))
        # As timeout(1) does it.
        child.send_signal(signal.SIGTERM)
        os.killpg(child.pid, signal.SIGTERM)
        self.expect(child, "got 15")
        out, err = child.communicate()
        self.assertIn(out, ("end\n", "got 15\nend\n", "end\ngot 15\n"), err)
        self.assertEqual(child.returncode, 0)

    def test_what_was_ignored_stays_so(self):
        child = self.start(LISTENER, before=["/usr/bin/env", "--ignore-signal=HUP"], ignored=(1,))
        for _ in range(2):
            child.send_signal(signal.SIGHUP)
            child.send_signal(signal.SIGUSR1)
            self.expect(child, "got 10")
        self.assertEqual(child.communicate()[0], "end\n")

    def test_where_the_ends_of_children_are_ignored(self):
        self.run_program(["/usr/bin/env", "--ignore-signal=CHLD", harness.rdb(), "record", "-o", self.path("trace"), "/bin/sh",
                          "-c", "exit 3"], timeout=30, status=3)

    def test_an_alarm_that_was_set_before_rdb_began(self):
        child = self.start(LISTENER, before=["/usr/bin/perl", "-e", "alarm 2; exec @ARGV"])
        self.expect(child, "got 14")
        self.assertEqual(child.communicate()[0], "end\n")

    def test_processes_that_outlive_the_first_get_them(self):
        child = self.start("import os, sys\nif os.fork() != 0: sys.exit(3)\nparent = os.getppid()\n"
                           "while os.getppid() == parent: pass\n" + LISTENER)
        child.send_signal(signal.SIGUSR1)
        self.expect(child, "got 10")
        child.send_signal(signal.SIGTERM)
        self.expect(child, "got 15")
        self.assertEqual(child.wait(), 3)
        second = self.rdb("ps", self.path("trace"), status=0).out.splitlines()[2].split()[0]
        replayed = self.rdb("replay", "-p", second, self.path("trace"), status=7)
        self.assertEqual(replayed.out, "ready\ngot 10\ngot 15\n")


class UntilFail(harness.TestCase):
    def search(self, *words):
        child = subprocess.Popen([harness.rdb(), "record", "--until-fail", *words], cwd=self.tmp, env=self.environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.communicate)
        return child

    def test_who_stops_the_search_has_found_nothing(self):
        child = self.search("/bin/sh", "-c", "echo run; sleep 0.05")
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate()
        self.assertEqual(child.returncode, -signal.SIGINT)
        self.assertRegex(err, r"stopped by SIGINT; none of \d+ runs failed")
        self.assertEqual(self.rdb("ls", status=0).out.count("sh-"), 0)

    def test_a_run_that_hangs_is_kept_when_the_time_is_over(self):
        """The second run waits for ever."""
        result = self.rdb("record", "--until-fail", "--for", "4s", "/bin/sh", "-c", "echo go; mkdir first || exec sleep 1000",
                          status=124)
        self.assertRegex(result.err,
                         r"the time is over; none of 1 runs failed in .* s, and the next went on for .* s: it is kept")
        self.assertIn("go\n", self.rdb("replay", status=0).out)

    def test_a_run_in_progress_when_the_time_is_over_is_no_failure(self):
        result = self.rdb("record", "--until-fail", "--for", "0.2", "/bin/sh", "-c", "sleep 0.4", status=0)
        self.assertRegex(result.err, r"the time is over; none of 0 runs failed")
        self.assertEqual(self.rdb("ls", status=0).out.count("sh-"), 0)

    def test_bad_use(self):
        for words in (["-n", "0"], ["-n", "-1"], ["-n", "x"], ["--for", "nan"], ["--for", "inf"], ["--for", "-1"],
                      ["--for", "1d"], ["--detect", "/no/where"], ["--detect", "/etc/passwd"]):
            with self.subTest(words):
                result = self.rdb("record", "--until-fail", *words, "/bin/true", status=2)
                self.assertEqual(len(result.err.splitlines()), 1 if "--detect" not in words else 2, result.err)
        self.assertEqual(self.rdb("ls", status=0).out.count("true-"), 0)

    def test_what_cannot_be_recorded_is_no_failure_of_the_program(self):
        script = "import mmap, os\nm = mmap.mmap(-1, 4096)\nif os.fork() == 0: m.resize(8192)\nos.wait()"
        result = self.rdb("record", "--until-fail", "-n", "2", "/usr/bin/python3", "-c", script, status=125)
        self.assertIn("run 1 could not be recorded to its end", result.err)
        self.assertIn("not supported: memory shared by recorded processes: mremap", result.err)


if __name__ == "__main__":
    harness.main()
