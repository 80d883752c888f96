# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A recording replays: same output, same end, same state, without anything of the world it was made in."""
import os
import shutil
import signal
import subprocess

import harness

# Programs that nobody here wrote; what they print differs from run to run where they can make it so.
PROGRAMS = {
    "echo": ["/bin/echo", "one", "two"],
    "ls": ["/bin/ls", "-l", "/proc/self/"],
    "sh": ["/bin/sh", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i+1)); done; echo $i $$; exit 7"],
    "date": ["/bin/date", "+%N"],
    "od": ["/usr/bin/od", "-An", "-tx8", "-N64", "/dev/urandom"],
    "perl": ["/usr/bin/perl", "-e", r'$SIG{ALRM}=sub{print "alarm\n"}; alarm 1; select undef,undef,undef,3; print rand, "\n"'],
    "python3": ["/usr/bin/python3", "-c", "import time,random,os; print(time.time(), random.random(), {'a','b','c'}, id(os))"],
    "sqlite3": ["/usr/bin/sqlite3", ":memory:",
                "create table t(a); insert into t values(random()); select a, datetime('now') from t"],
    "bc": ["/usr/bin/bc", "-l"],
    "bzip2": ["/bin/bzip2", "-c", "/etc/services"],
}
STDIN = {"bc": "scale=60\n4*a(1)\n"}

# Guests of tests/targets that record in one process and one thread, and what they are given.
GUESTS = ["syscalls/events", "syscalls/faults", "syscalls/files", "syscalls/ipc", "syscalls/signals", "syscalls/sockets",
          "engine/x87", "engine/simd", "engine/longjmp", "engine/exceptions", "engine/strings", "engine/cpu",
          "engine/swapcontext"]


class RecordReplay(harness.TestCase):
    def record(self, argv, **how):
        return self.rdb("record", "--checksum", "-o", self.path("trace"), "--", *argv, **how)

    def check_replay(self, recorded, times=3):
        for _ in range(times):
            replayed = self.rdb("replay", "--no-module", self.path("trace"))
            self.assertEqual(replayed.out, recorded.out)
            self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")

    def test_programs(self):
        for name, argv in PROGRAMS.items():
            with self.subTest(name):
                shutil.rmtree(self.path("trace"), ignore_errors=True)
                recorded = self.record(argv, stdin=STDIN.get(name, ""))
                self.assertNotEqual(recorded.status, 125, f"\n{recorded}")
                self.check_replay(recorded)

    def test_guests(self):
        for name in GUESTS:
            with self.subTest(name):
                shutil.rmtree(self.path("trace"), ignore_errors=True)
                recorded = self.record([harness.target(name)])
                self.assertNotEqual(recorded.status, 125, f"\n{recorded}")
                self.check_replay(recorded, times=1)

    def test_death_by_signal_is_replayed(self):
        recorded = self.record([harness.target("engine/crash"), "segv"])
        self.assertEqual(recorded.status, -signal.SIGSEGV, f"\n{recorded}")
        self.check_replay(recorded)

    def test_one_line_says_where_the_trace_is(self):
        recorded = self.record(["/bin/true"], status=0)
        lines = recorded.err.splitlines()
        self.assertEqual(len(lines), 1, recorded.err)
        self.assertIn(self.path("trace"), lines[0])
        self.assertIn("secrets", lines[0])

    def test_the_original_is_not_needed(self):
        program = self.path("program")
        shutil.copy("/bin/date", program)
        recorded = self.record([program, "+%N"], status=0)
        os.remove(program)
        self.check_replay(recorded, times=1)

    def test_stops_at_a_time(self):
        self.record(["/bin/echo", "hello"], status=0)
        stopped = self.rdb("replay", "--to", "1000", self.path("trace"), status=0)
        self.assertIn("stopped at time 1000", stopped.err)
        self.assertEqual(stopped.out, "")

    def test_killed_recordings_replay_up_to_the_end(self):
        argv = [harness.rdb(), "record", "-o", self.path("trace"), "/bin/sh", "-c", "while :; do echo x; done"]
        child = subprocess.Popen(argv, cwd=self.tmp, env=self.environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, start_new_session=True)
        for _ in range(20000):
            child.stdout.readline()
        os.killpg(child.pid, signal.SIGKILL)
        child.stdout.close()
        child.wait()
        replayed = self.rdb("replay", self.path("trace"), status=-9)
        self.assertIn("the recording ends at time", replayed.err)
        self.assertTrue(set(replayed.out) <= set("x\n"))

    def test_ctrl_c_goes_to_the_program_and_a_second_one_ends_the_recording(self):
        # Not with print(): Python refuses to enter it from a handler that came while it was flushing.
        script = ("import os, signal, time\n"
                  "signal.signal(signal.SIGINT, lambda *_: os.write(1, b'interrupted\\n'))\n"
                  "os.write(1, b'ready\\n')\n"
                  "while True:\n    time.sleep(0.05)\n    os.write(1, b'on\\n')")
        argv = [harness.rdb(), "record", "-o", self.path("trace"), "/usr/bin/python3", "-c", script]
        child = subprocess.Popen(argv, cwd=self.tmp, env=self.environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        os.killpg(child.pid, signal.SIGINT)
        shown = ["ready\n"]
        while shown[-1] != "interrupted\n":
            shown.append(child.stdout.readline())
            if not shown[-1]:
                self.fail(f"the program ended, status {child.wait()}: {child.stderr.read()}")
            self.assertIn(shown[-1], ("on\n", "interrupted\n"))
        # What the program does after a call shows that the call is in the log.
        self.assertEqual(child.stdout.readline(), "on\n")
        # Two within a second, however slow the machine is.
        for _ in range(100):
            if child.poll() is not None:
                break
            os.killpg(child.pid, signal.SIGINT)
            try:
                child.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                pass
        child.stdout.read()
        err = child.stderr.read()
        child.stdout.close()
        child.stderr.close()
        self.assertIn("ended by a second Ctrl-C", err)
        replayed = self.rdb("replay", self.path("trace"), status=0)
        self.assertTrue(replayed.out.startswith("".join(shown)), f"\n{replayed}")

    def test_bad_use(self):
        self.assertEqual(self.rdb("record").status, 2)
        self.assertEqual(self.rdb("record", "/does/not/exist").status, 2)
        for name, content, message in (("junk", "junk", "neither a program"), ("script", "#!/no/where\n", "the interpreter of")):
            os.chmod(self.write(name, content), 0o755)
            result = self.rdb("record", "-o", self.path("trace"), self.path(name), status=2)
            self.assertEqual(len(result.err.splitlines()), 1, result.err)
            self.assertIn(message, result.err)
            self.assertFalse(os.path.exists(self.path("trace")))
        for option in (["--chunk", "0"], ["--chunk", "many"], ["--seed", "x"]):
            result = self.rdb("record", *option, "/bin/true", status=2)
            self.assertLess(len(result.err), 200)
        missing = self.rdb("replay", self.path("nothing"))
        self.assertEqual(missing.status, 2)
        self.assertEqual(len(missing.err.splitlines()), 1, missing.err)


if __name__ == "__main__":
    harness.main()
