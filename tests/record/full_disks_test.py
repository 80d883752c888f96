# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A disk that gets full while a program is recorded: what the program has printed replays, and every command says why the
recording ends there."""
import os
import subprocess

import harness

UNSHARE = "/usr/bin/unshare"
COUNTING = "i=0; while :; do i=$((i+1)); echo line $i; done"
CHILD = f"({COUNTING}) & wait; echo never"


def can_mount():
    command = [UNSHARE, "-rm", "/bin/mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class FullDisks(harness.TestCase):
    def setUp(self):
        super().setUp()
        if not can_mount():
            self.skipTest("mounting in a namespace is not permitted here")
        os.mkdir(self.path("small"))

    def inside(self, size, script):
        """Runs the script where $RDB_TRACE_DIR is a file system of that size."""
        script = f"mount -t tmpfs -o size={size} none small || exit 99\nexport RDB_TRACE_DIR=$PWD/small\n{script}"
        return self.run_program([UNSHARE, "-rm", "/bin/sh", "-c", script], env={"RDB": harness.rdb()}, status=0)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def check(self, size, script):
        names = "info", "ps", "ls", "dump", "dump --chunks"
        commands = "".join(f"$RDB {name} >'{name}' 2>&1; echo {name} $?\n" for name in names)
        result = self.inside(size, f"$RDB record /bin/sh -c '{script}' >printed 2>said; echo record $?\n" + commands +
                             "for p in $($RDB ps | awk 'NR>1 {print $1}'); do $RDB replay -p $p >>replayed 2>>why; echo "
                             "replay $?; done\n"
                             "$RDB pack sh-0 packed; echo pack $?; $RDB rm sh-0; echo rm $?")
        self.assertNotRegex(result.out, r"(?m)^(?!record 125$)\S.* [^0]\d*$", f"\n{result}")
        self.assertIn("record 125\n", result.out)
        printed, replayed = self.text("printed"), self.text("replayed")
        self.assertGreater(printed.count("\n"), 100)
        self.assertTrue(printed.startswith(replayed) or replayed.startswith(printed), (printed[-99:], replayed[-99:]))
        # The call in which the recording ended may not be in it.
        self.assertLessEqual(abs(printed.count("\n") - replayed.count("\n")), 1)
        self.assertRegex(self.text("said"), r"(?m)^rdb: recorded \d+ instructions[^,]*, disk full, ")
        self.assertRegex(self.text("said"), r"(?m)^rdb: the recording ended early: .*No space left on device; ")
        self.assertRegex(self.text("why"),
                         r"(?m)^rdb: the recording ends at time [1-9]\d*: the log could not be written any further \(disk full")
        self.assertRegex(self.text("info"), r"(?m)^ended +disk full: .*No space left")
        for name in "ps", "ls":
            self.assertIn("disk full", self.text(name))
        for name in "dump", "dump --chunks":
            self.assertRegex(self.text(name), r"(?m)^rdb: note: the log ends at time [1-9]\d*: .*disk full")
        for name in "said", "info", "ps", "ls":
            self.assertNotIn("exit 125", self.text(name))
        # The packed recording is whole, too.
        self.rdb("unpack", "-o", "unpacked", "packed", status=0)
        again = "".join(self.rdb("replay", "-p", name, "./unpacked", status=0).out for name, _ in self.processes("./unpacked"))
        self.assertEqual(again, replayed)

    def test_a_program_that_prints_for_ever(self):
        self.check("3500k", COUNTING)

    def test_a_child_that_prints_for_ever(self):
        self.check("5000k", CHILD)


if __name__ == "__main__":
    harness.main()
