# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A replay touches nothing outside its trace: it works when the world it was recorded in is gone, and whoever
kills the recorder, the longest intact prefix replays and the end is named."""
import os
import pwd
import random
import shutil
import signal
import stat
import subprocess

import harness

FULL = harness.take_flag("--full")

READER = "import os, time; print(os.getpid(), time.time(), open('text').read(), os.listdir('.'), os.getcwd())"


def permitted(*argv):
    return subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


class World(harness.TestCase):
    def record(self, argv, **how):
        return self.rdb("record", "--checksum", "-o", self.path("trace"), "--", *argv, **how)

    def check_replay(self, recorded, command=(), **how):
        replayed = self.run_program([*command, harness.rdb(), "replay", "--no-module", self.path("trace")], **how)
        self.assertEqual(replayed.out, recorded.out, f"\n{replayed}")
        self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")

    def test_files_that_were_read_are_gone(self):
        self.write("text", "words")
        recorded = self.record(["/usr/bin/python3", "-c", READER], status=0)
        os.remove(self.path("text"))
        self.check_replay(recorded)

    def test_the_program_is_rebuilt_in_place(self):
        shutil.copy("/bin/date", self.path("program"))
        recorded = self.record([self.path("program"), "+%N"], status=0)
        with open(self.path("program"), "r+b") as file:
            file.seek(0)
            file.write(b"\0" * 4096)
        self.check_replay(recorded)

    def test_in_another_directory_with_another_environment(self):
        self.write("text", "words")
        recorded = self.record(["/usr/bin/python3", "-c", READER], status=0)
        self.check_replay(recorded, cwd="/", env={"LANG": "tlh", "PATH": "/nowhere", "LD_BIND_NOW": "1"})

    def test_the_trace_is_read_only(self):
        recorded = self.record(["/bin/date", "+%N"], status=0)
        for folder, _, files in os.walk(self.path("trace"), topdown=False):
            for name in files:
                os.chmod(os.path.join(folder, name), stat.S_IRUSR)
            os.chmod(folder, stat.S_IRUSR | stat.S_IXUSR)
        try:
            self.check_replay(recorded)
        finally:
            for folder, _, _ in os.walk(self.path("trace")):
                os.chmod(folder, stat.S_IRWXU)

    def test_as_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        recorded = self.record(["/usr/bin/python3", "-c", "import os; print(os.getuid(), os.getpid())"], status=0)
        other = pwd.getpwnam("nobody")
        for folder, _, files in os.walk(self.path("trace")):
            for path in [folder, *(os.path.join(folder, name) for name in files)]:
                os.chown(path, other.pw_uid, other.pw_gid)
        os.chmod(self.tmp, 0o755)
        self.check_replay(recorded, command=["/usr/bin/setpriv", f"--reuid={other.pw_uid}", f"--regid={other.pw_gid}",
                                             "--clear-groups", "--"])

    def test_without_a_network(self):
        if not permitted("/usr/bin/unshare", "-n", "/bin/true"):
            self.skipTest("unshare -n is not permitted here")
        talk = ("import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); c = socket.create_connection("
                "s.getsockname()); a, _ = s.accept(); c.send(b'hello'); print(a.recv(9), a.getpeername())")
        recorded = self.record(["/usr/bin/python3", "-c", talk], status=0)
        self.check_replay(recorded, command=["/usr/bin/unshare", "-n"])

    def test_killed_anywhere_the_prefix_replays(self):
        counting = "i=0; while :; do i=$((i+1)); echo $i; done"
        generator = random.Random(5)
        for attempt in range(200 if FULL else 20):
            with self.subTest(attempt):
                shutil.rmtree(self.path("trace"), ignore_errors=True)
                argv = [harness.rdb(), "record", "-o", self.path("trace"), "/bin/sh", "-c", counting]
                child = subprocess.Popen(argv, cwd=self.tmp, env=self.environment(), stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, start_new_session=True)
                seen = b""
                wanted = generator.randrange(60000)
                while len(seen) < wanted:
                    part = os.read(child.stdout.fileno(), 4096)
                    self.assertNotEqual(part, b"", seen)
                    seen += part
                # The recorder, or the program that it records, or both.
                victim = generator.choice(["recorder", "program", "both"])
                if victim == "both":
                    os.killpg(child.pid, signal.SIGKILL)
                elif victim == "recorder":
                    os.kill(child.pid, signal.SIGKILL)
                else:
                    for pid in self.children(child.pid):
                        os.kill(pid, signal.SIGKILL)
                rest = child.stdout.read()
                child.stdout.close()
                child.wait()
                if not os.path.exists(self.path("trace/metadata.json")):
                    continue  # killed before there was anything
                replayed = self.rdb("replay", self.path("trace"))
                if replayed.status == 2:
                    self.assertIn("holds no process", replayed.err)
                    continue
                self.assertEqual(replayed.status, -9, f"\n{replayed}")
                self.assertRegex(replayed.err, "the recording ends at time|killed by SIGKILL after time")
                self.assertTrue((seen + rest).startswith(replayed.out.encode()), f"\n{replayed}")

    def test_killing_a_process_of_a_tree_leaves_the_others_whole(self):
        counting = ("for i in 1 2 3; do (j=0; while [ $j -lt 400 ]; do j=$((j+1)); echo $i.$j; done; (echo leaf $i) | cat; "
                    "exit 3) & "
                    "done; wait; echo all")
        generator = random.Random(9)
        for attempt in range(50 if FULL else 8):
            with self.subTest(attempt):
                shutil.rmtree(self.path("trace"), ignore_errors=True)
                argv = [harness.rdb(), "record", "--checksum", "-o", self.path("trace"), "/bin/sh", "-c", counting]
                child = subprocess.Popen(argv, cwd=self.tmp, env=self.environment(), stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, start_new_session=True)
                seen = b""
                wanted = generator.randrange(6800)  # of 6901
                while len(seen) < wanted:
                    part = os.read(child.stdout.fileno(), 256)
                    self.assertNotEqual(part, b"", seen)
                    seen += part
                victim = 0
                try:
                    program = self.children(child.pid)[-1]  # the first stands by
                    victim = generator.choice(self.children(program))
                    os.kill(victim, signal.SIGKILL)
                except (FileNotFoundError, ProcessLookupError, IndexError):
                    victim = 0  # it was quicker
                seen += child.stdout.read()
                child.stdout.close()
                self.assertEqual(child.wait(), 0)
                lines = seen.decode().splitlines()
                for row in self.rdb("ps", self.path("trace"), status=0).out.splitlines()[1:]:
                    replayed = self.rdb("replay", "-p", row.split()[0], self.path("trace"))
                    self.assertNotRegex(replayed.err, harness.WRONG_REPLAY, f"\n{replayed}")
                    if int(row.split()[0].partition(".")[0]) != victim:
                        self.assertNotIn("the recording ends", replayed.err, f"{row}\n{replayed}")
                    if "cat" not in row:  # that writes what came out of the pipe
                        self.assertLessEqual(set(replayed.out.splitlines()), set(lines), f"{row}\n{replayed}")

    @staticmethod
    def children(pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]

    def test_a_full_disk_ends_the_recording_with_what_fits(self):
        if not permitted("/usr/bin/unshare", "-rm", "/bin/mount", "-t", "tmpfs", "none", "/mnt"):
            self.skipTest("mounting in a namespace is not permitted here")
        small = self.path("small")
        os.mkdir(small)
        script = (f"mount -t tmpfs -o size=6m none {small} || exit 99\n"
                  f"{harness.rdb()} record -o {small}/trace /usr/bin/od -An -tx8 -N30000000 /dev/urandom >/dev/null\n"
                  f"echo record $?\n{harness.rdb()} replay -q {small}/trace\necho replay $?\n")
        result = self.run_program(["/usr/bin/unshare", "-rm", "/bin/sh", "-c", script])
        self.assertIn("record 125", result.out, f"\n{result}")
        self.assertIn("replay 0", result.out, f"\n{result}")
        self.assertRegex(result.err, "recording ended early: .*No space left")
        self.assertIn("the recording ends at time", result.err)

    def test_replays_are_equal(self):
        recorded = self.record(["/usr/bin/python3", "-c", "import time; print(time.time_ns(), {'a', 'b', 'c'}, id(1000))"],
                               status=0)
        for _ in range(100 if FULL else 5):
            self.check_replay(recorded)

    def test_the_log_is_small(self):
        """At most 1.1 bytes per byte of input and 24 bytes per system call, before compression."""
        size = 2_000_000
        with open(self.path("random"), "wb") as file:
            file.write(random.Random(1).randbytes(size))
        self.rdb("record", "-o", self.path("trace"), "--", "/bin/dd", "if=random", "of=/dev/null", "bs=50",
                 "status=none", status=0)
        calls = 2 * size // 50
        stored = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, files in os.walk(self.path("trace"))
                     for name in files if name == "inputs")
        # Random bytes and hashes do not compress: what is stored is not far from what there was.
        self.assertLess(stored, 1.1 * size + 24 * calls + 200_000)

    def test_the_recorder_takes_little_memory(self):
        peak = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        argv = [harness.rdb(), "record", "-o", self.path("trace"), "/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=16",
                "count=300000", "status=none"]
        result = self.run_program(["/usr/bin/python3", "-c", peak, *argv], status=0)
        self.assertLess(int(result.out), 160 * 1024)


if __name__ == "__main__":
    harness.main()
