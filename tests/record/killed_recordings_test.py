# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SIGKILL of rdb, of the program, of both: nothing is lost that was printed before, and the replay ends like the run."""
import os
import random
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness

FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")

# Each line is one write.
COUNTING = "i=0; while :; do i=$((i+1)); echo line $i; done"
# The same in a child that does nothing but print, and in one that has just been made.
CHILD = "(" + COUNTING + ") & wait"
MANY = "i=0; while :; do i=$((i+1)); (echo line $i); done"


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


class KilledRecordings(harness.TestCase):
    def kill(self, script, victim, after):
        """Records a script, kills somebody when so many bytes were printed. All that was printed."""
        shutil.rmtree(self.path("t"), ignore_errors=True)
        child = subprocess.Popen([harness.rdb(), "record", "-o", "t", "/bin/sh", "-c", script], cwd=self.tmp,
                                 env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 start_new_session=True)
        seen = b""
        while len(seen) < after:
            part = os.read(child.stdout.fileno(), 4096)
            self.assertNotEqual(part, b"", seen)
            seen += part
        if victim == "both":
            os.killpg(child.pid, signal.SIGKILL)
        elif victim == "recorder":
            os.kill(child.pid, signal.SIGKILL)
        else:
            os.kill(children(child.pid)[-1], signal.SIGKILL)
        out, err = child.communicate(timeout=120)
        self.recorder = child.returncode, err.decode()
        return (seen + out).decode()

    def all_output(self):
        """What the processes of the recording have printed, each by its own replay."""
        out = ""
        for name, ending in self.processes("t"):
            result = self.rdb("replay", "-p", name, "t")
            self.assertNotIn("internal error", result.err, f"{name}\n{result}")
            self.assertEqual(result.status, -9 if ending == "SIGKILL" else 0, f"{name} {ending}\n{result}")
            out += result.out
        return out

    def assert_nothing_lost(self, printed, replayed):
        """The last call may have been made and not logged yet: one line."""
        self.assertTrue(printed.startswith(replayed) or replayed.startswith(printed), (printed[-99:], replayed[-99:]))
        lost = printed.count("\n") - replayed.count("\n")
        self.assertLessEqual(lost, 1, f"printed up to {printed[-30:]!r}, replayed up to {replayed[-30:]!r}")
        # What the kernel had not yet passed on is known to the log alone.
        self.assertGreaterEqual(lost, -1)

    def test_nothing_that_was_printed_is_lost(self):
        generator = random.Random(5)
        for attempt in range(100 if FULL else 4):
            for victim in "both", "recorder", "program":
                with self.subTest(attempt=attempt, victim=victim):
                    printed = self.kill(COUNTING, victim, generator.choice([1, 50, 5000, generator.randrange(60000)]))
                    replayed = self.rdb("replay", "t", status=-9)
                    self.assertRegex(replayed.err, "killed by SIGKILL after time|the recording ends at time")
                    self.assert_nothing_lost(printed, replayed.out)
                    self.assertIn("SIGKILL" if victim == "program" else "killed", self.rdb("info", "t", status=0).out)

    def test_children(self):
        for script in CHILD, MANY:
            for victim in "both", "recorder":
                with self.subTest(script=script, victim=victim):
                    printed = self.kill(script, victim, 3000)
                    replayed = "".join(sorted(self.all_output().splitlines(True), key=lambda line: int(line.split()[1])))
                    self.assert_nothing_lost("".join(sorted(printed.splitlines(True), key=lambda line: int(line.split()[1]))),
                                             replayed)

    def test_the_replay_ends_as_the_program_did(self):
        # The program itself, a child of it, and one that kills its whole group but the recorder.
        self.rdb("record", "-o", "a", "/bin/sh", "-c", "echo before; kill -KILL $$", status=-9)
        replayed = self.rdb("replay", "a", status=-9)
        self.assertEqual(replayed.out, "before\n")
        self.assertIn("the program died of SIGKILL at time", replayed.err)
        self.assertIn("SIGKILL", self.rdb("info", "a", status=0).out)
        self.rdb("record", "-o", "b", "/bin/sh", "-c", "(echo child; sh -c 'kill -KILL $PPID'; echo never); echo $?", status=0)
        self.assertEqual(self.rdb("replay", "b", status=0).out, "137\n")
        endings = dict(self.processes("b"))
        self.assertIn("SIGKILL", endings.values())
        for name, ending in endings.items():
            if ending == "SIGKILL":
                self.assertEqual(self.rdb("replay", "-p", name, "b", status=-9).out, "child\n")

    def test_a_child_whose_log_holds_nothing_yet(self):
        self.rdb("record", "-q", "-o", "t", "/bin/sh", "-c", "echo parent; (echo child); echo end", status=0)
        first, child = (name for name, _ in self.processes("t"))
        for name in "inputs", "chunks":
            os.truncate(self.path(f"t/{child}/{name}"), 64)  # just its header
        replayed = self.rdb("replay", "-p", child, "t")
        self.assertRegex(replayed.err, r"rdb: the recording ends at time \d+: cut off after time 0: ")
        self.assertEqual(replayed.out, "")
        # The one that forked may end even before the fork.
        for name in "inputs", "chunks":
            os.truncate(self.path(f"t/{first}/{name}"), 64)
        replayed = self.rdb("replay", "-p", child, "t")
        self.assertRegex(replayed.err, r"rdb: the recording ends at time 0: ")

    def test_no_rings_are_left(self):
        self.rdb("record", "-q", "-o", "t", "/bin/sh", "-c", "(echo child) & /bin/echo other; wait; echo end", status=0)
        left = [name for _, _, names in os.walk(self.path("t")) for name in names if name.startswith("ring")]
        self.assertEqual(left, [])

    def test_a_ring_that_holds_anything_is_no_trouble(self):
        printed = self.kill(COUNTING, "both", 5000)
        (name, _), = self.processes("t")
        with open(self.path(f"t/{name}/ring"), "rb") as file:
            ring = file.read()
        whole = self.rdb("replay", "t", status=-9).out
        generator = random.Random(6)
        for attempt in range(300 if FULL else 30):
            with self.subTest(attempt=attempt):
                changed = bytearray(ring)
                for _ in range(generator.randrange(1, 5)):
                    at = generator.choice([generator.randrange(400), generator.randrange(4096, len(ring))])
                    changed[at] = generator.randrange(256)
                if attempt % 5 == 0:
                    changed = changed[:generator.randrange(len(changed))]
                with open(self.path(f"t/{name}/ring"), "wb") as file:
                    file.write(changed)
                replayed = self.rdb("replay", "t")
                self.assertNotIn("signal 7", replayed.err)
                self.assertIn(replayed.status, (-9, 2, 125), f"\n{replayed}")
        os.unlink(self.path(f"t/{name}/ring"))
        self.assertTrue(whole.startswith(self.rdb("replay", "t", status=-9).out))
        self.assertTrue(printed)


if __name__ == "__main__":
    harness.main()
