# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rdb gdb on real recordings: a real gdb, forwards and backwards."""
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from remote import Remote, ServedTestCase, harness


class RecordingTestCase(ServedTestCase):
    target = "gdb_steps"
    status = 7

    def setUp(self):
        super().setUp()
        self.program = harness.target(self.target)
        self.rdb("record", self.program, status=self.status)

    def answers(self, *commands, options=(), timeout=120):
        """What `rdb gdb` prints, as a list: one text for each of gdb's commands."""
        words = ["-nx", "-batch", "-ex", "set width 0", "-ex", "set print entry-values no"]
        for command in commands:
            words += ["-ex", f"echo >>> {command}\\n", "-ex", command]
        argv = [harness.rdb(), "gdb", *options, "--", *words]
        out = self.run_program(["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", *argv], timeout=timeout).out
        return [part.split("\n", 1)[1] for part in out.split(">>> ")[1:]]

    def serve(self, *options):
        self.start([harness.rdb(), "gdb", "--server", self.path("s"), *options])
        deadline = time.monotonic() + 60
        while not os.path.exists(self.path("s")):
            self.assertLess(time.monotonic(), deadline, self.server_log())
            time.sleep(0.02)
        self.address = self.path("s")


class Commands(RecordingTestCase):
    def test_forwards_and_backwards(self):
        out = self.answers("when", "break add", "continue", "bt", "next", "finish", "reverse-continue",
                           "tbreak factorial if n == 1", "delete 1", "continue", "reverse-finish", "reverse-step",
                           "info sharedlibrary", "continue", "reverse-stepi", "stepi")
        self.assertIn("At 0, thread", out[0])
        self.assertIn("Breakpoint 1, add (a=0, b=0)", out[2])
        self.assertIn("#1 ", out[3])
        self.assertIn("return a + b;", out[4])
        self.assertIn("Value returned is $1 = 0", out[5])
        self.assertIn("Breakpoint 1, add (a=0, b=0)", out[6])
        self.assertIn("factorial (n=1)", out[9])
        self.assertIn("factorial(n - 1)", out[10])
        self.assertIn("libc.so", out[12])
        self.assertIn("the program exited with status 7", out[13])

    def test_watchpoints(self):
        out = self.answers("tbreak main", "continue", "watch counter", "continue", "continue", "reverse-continue",
                           "reverse-continue", "delete", "rwatch scale", "continue", "delete", "goto end",
                           "watch origin.x", "reverse-continue", timeout=300)
        self.assert_in_order(out[3], "Old value = 0", "New value = 1")
        self.assert_in_order(out[4], "Old value = 1", "New value = 3")
        self.assert_in_order(out[5], "Old value = 3", "New value = 1")
        self.assert_in_order(out[6], "Old value = 1", "New value = 0")
        self.assertIn("Value = 1.5", out[9])
        self.assert_in_order(out[13], "Old value = 34", "New value = 3", "last")

    def test_positions(self):
        out = self.answers("tbreak factorial", "continue", "bookmark deep", "checkpoint here", "goto start", "when",
                           "restart 1", "info checkpoints", "goto 50%", "goto deep", "delete checkpoint 1",
                           "info checkpoints", "goto nowhere", "when-end", "goto end", "bt", "reverse-stepi")
        self.assertIn("Bookmark deep", out[2])
        self.assertIn("_start", out[4])
        self.assertIn("At 0,", out[5])
        self.assertIn("factorial", out[6])
        self.assertIn("here", out[7])
        self.assertIn("factorial", out[9])
        self.assertIn("No checkpoints", out[11])
        self.assertIn("'nowhere' is no position", out[12])
        self.assertIn("exited with status 7", out[13])
        self.assertIn("exit", out[15])

    def test_state(self):
        out = self.answers("break vectors", "continue", "next 2", "p $ymm0.v4_double", "info threads",
                           "info proc mappings", "p/x $mxcsr", "x/s name", "print factorial(5)",
                           "print add(100, 1)", "print counter", "print counter = 3", "next", "print counter")
        self.assertIn("= {3, 4, 6, 8}", out[3])
        self.assertIn('"gdb_steps"', out[4])
        self.assertIn("r-xp", out[5])
        self.assertIn("0x1f", out[6])
        self.assertIn('"rdb"', out[7])
        self.assertIn("= 120", out[8])
        self.assertIn("= 101", out[9])
        self.assertIn("a recorded run cannot be changed", out[11])
        self.assertIn("= 10", out[13])

    def test_system_calls_and_output(self):
        out = self.answers("catch syscall write", "continue", "continue", "reverse-continue", "delete", "continue",
                           "goto start", "continue", "info registers orig_rax")
        self.assertIn("call to syscall write", out[1])
        self.assertIn("returned from syscall write", out[2])
        self.assertTrue(out[2].startswith("out\n"), out[2])
        self.assertNotIn("out\n", out[7])

    def test_beginning_elsewhere(self):
        out = self.answers("when", "bt", options=("--at", "end"))
        self.assertIn("exit", out[1])
        result = self.rdb("gdb", "--at", "later")
        self.assertEqual(result.status, 2)
        self.assertIn("'later' is no position", result.err)


class Crash(RecordingTestCase):
    target = "gdb_signals"
    status = -11

    def test_the_end_can_be_looked_at(self):
        out = self.answers("continue", "continue", "print $_siginfo.si_signo", "print nowhere", "bt", "continue",
                           "reverse-continue", "reverse-continue")
        self.assertIn("SIGUSR1", out[0])
        self.assertIn("SIGSEGV", out[1])
        self.assertIn("= 11", out[2])
        self.assertIn("0x0", out[3])
        self.assertIn("crash", out[1] + out[4])
        self.assertIn("signal 11 ended the program", out[5])
        self.assertIn("SIGUSR1", out[6] + out[7])


class RandomWalks(RecordingTestCase):
    def symbol(self, name):
        return int(re.search(r"= 0x(\w+)", self.answers("tbreak main", "continue", f"print/x (long)&{name}")[2]).group(1), 16)

    def test_a_position_has_one_state(self):
        rng = random.Random(5)
        entry, counter = self.symbol("add"), self.symbol("counter")
        self.serve()
        remote = Remote(self.address)
        self.addCleanup(remote.close)
        remote.ask("qSupported:multiprocess+;swbreak+")
        states = {}
        for _ in range(250):
            move = rng.choice(["s", "s", "bs", "bs", "c", "bc", "watch", "rwatch", "goto"])
            if move == "s":
                remote.resume("vCont;s")
            elif move == "bs":
                remote.resume("bs")
            elif move in ("c", "bc"):
                remote.ask(f"Z0,{entry:x},1")
                remote.resume("vCont;s" if move == "c" else "bs")
                remote.resume("vCont;c" if move == "c" else "bc")
                remote.ask(f"z0,{entry:x},1")
            elif move in ("watch", "rwatch"):
                remote.ask(f"Z2,{counter:x},4")
                remote.resume("vCont;c" if move == "watch" else "bc")
                remote.ask(f"z2,{counter:x},4")
            else:
                remote.monitor(f"goto {rng.randrange(101)}%")
            registers = remote.ask("g")
            stack = int.from_bytes(bytes.fromhex(remote.ask("p7")), "little")
            state = (registers, remote.ask(f"m{counter:x},100"), remote.ask(f"m{stack:x},200"))
            self.assertEqual(states.setdefault(remote.where(), state), state, move)
        self.assertGreater(len(states), 40)


if __name__ == "__main__":
    harness.main()
