# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SIGKILL of rdb, of the program, of both: nothing is lost that was printed before, and the replay ends like the run."""
import os
import random
import shutil
import signal
import subprocess

import harness

FULL = harness.take_flag("--full")

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
            self.assertNotRegex(result.err, harness.WRONG_REPLAY, f"{name}\n{result}")
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
                self.assertIn(replayed.status, (-9, 2), f"\n{replayed}")
                self.assertTrue(whole.startswith(replayed.out), f"\n{replayed}")
                if replayed.out != whole or replayed.status == 2:
                    self.assertRegex(replayed.err, r"the recording ends at time \d+: (damaged|cut off) after time \d+: "
                                                   r"[^\n]*/ring, offset \d+: [^\n]+\n\Z")
        os.unlink(self.path(f"t/{name}/ring"))
        self.assertTrue(whole.startswith(self.rdb("replay", "t", status=-9).out))
        self.assertTrue(printed)


    def test_every_byte_of_a_small_ring_counts(self):
        """One byte of each record and of each number in the header: what is lost is named, with status 2."""
        # The last call may have been made and not logged yet. Whatever was printed before it is in the log.
        self.kill("echo one; echo two; echo three; echo last; while :; do :; done", "both", 19)
        (name, _), = self.processes("t")
        path = self.path(f"t/{name}/ring")
        with open(path, "rb") as file:
            ring = file.read()
        whole = self.rdb("replay", "t", status=-9).out
        self.assertIn(whole, ("one\ntwo\nthree\n", "one\ntwo\nthree\nlast\n"))
        head = int.from_bytes(ring[64:72], "little")
        self.assertGreater(head, 1000)
        places = [*range(0, 72, 8), *range(4096, 4096 + head, max(8, head // 40 // 8 * 8 + 3))]
        damaged = 0
        for at in places:
            with self.subTest(at=at):
                with open(path, "wb") as file:
                    file.write(ring[:at] + bytes([ring[at] ^ 0x10]) + ring[at + 1:])
                replayed = self.rdb("replay", "t")
                self.assertIn(replayed.status, (-9, 2), f"\n{replayed}")
                if replayed.status == -9:
                    self.assertEqual(replayed.out, whole)
                else:
                    damaged += 1
                    self.assertIn("/ring, offset ", replayed.err)
                    for command in ("info", "ps", "dump"):
                        self.assertIn("/ring, offset ", self.rdb(command, "t", status=2).err)
                    packed = self.rdb("pack", "t", "packed", status=2)
                    self.assertRegex(packed.err,
                                     r"\Ardb: pack: the recording is damaged, and packed holds only [^\n]*/ring, offset "
                                     r"[^\n]*\n\Z")
        self.assertGreater(damaged, 15)

    def test_a_ring_is_read_after_a_restart_and_packed(self):
        printed = self.kill(COUNTING, "both", 5000)
        whole = self.rdb("replay", "t", status=-9).out
        self.assert_nothing_lost(printed, whole)
        self.rdb("pack", "t", "t.tar.zst", status=0)
        self.rdb("unpack", "-o", "u", "t.tar.zst", status=0)
        self.assertFalse([name for _, _, names in os.walk(self.path("u")) for name in names if name == "ring"])
        self.assertEqual(self.rdb("replay", "./u", status=-9).out, whole)
        (name, _), = self.processes("t")
        path = self.path(f"t/{name}/ring")
        with open(path, "r+b") as file:
            self.assertRegex(file.read(56)[16:52], rb"\A[0-9a-f-]{36}\Z")  # this run of the machine
            file.seek(16)
            file.write(b"00000000-0000-0000-0000-000000000000")
        self.assertEqual(self.rdb("replay", "t", status=-9).out, whole)
        # A crash of the machine may leave a page that was never written.
        with open(path, "r+b") as file:
            file.seek(64)
            head = int.from_bytes(file.read(8), "little")
            file.seek(4096 + (head % (1 << 20)) // 4096 * 4096 - 4096)
            file.write(bytes(4096))
        replayed = self.rdb("replay", "t", status=-9)
        self.assertTrue(whole.startswith(replayed.out) and replayed.out != whole)
        self.assertRegex(replayed.err, r"cut off after time \d+: [^\n]*/ring, offset ")


if __name__ == "__main__":
    harness.main()
