# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The server with a real gdb, over programs that were single-stepped once: every state is known, so this tests
what is between gdb and a target, without a replay."""
import os
import random
import re
import socket
import stat

from remote import Remote, ServedTestCase, harness, walk


class SteppedTestCase(ServedTestCase):
    target = "gdb/steps"

    def setUp(self):
        super().setUp()
        self.program = harness.target(self.target)
        self.start([os.path.join(harness.BUILD, "tests", "gdb_stepped_server"), self.path("s"), "main", self.program])
        self.address = self.server.stdout.readline().strip()
        self.assertTrue(self.address, self.server_log())


class Commands(SteppedTestCase):
    def test_stepping_forwards(self):
        out = self.gdb_answers("break add", "continue", "bt", "next", "step", "finish", "info breakpoints",
                               program=self.program)
        self.assertIn("Breakpoint 1, add (a=0, b=0)", out[1])
        self.assertIn("#1 ", out[2])
        self.assertIn("return a + b;", out[3])
        self.assertIn("Value returned is $1 = 0", out[5])
        self.assertIn("already hit 1 time", out[6])

    def test_stepping_backwards(self):
        out = self.gdb_answers("tbreak factorial if n == 1", "continue", "reverse-stepi", "stepi", "reverse-finish",
                               "reverse-step", "reverse-next", "break add", "reverse-continue", "reverse-continue",
                               "delete", "reverse-continue", program=self.program)
        self.assertIn("factorial (n=1)", out[1])
        self.assertIn("if (n < 2)", out[3])
        self.assertIn("factorial(n - 1)", out[4])
        self.assertIn("below = factorial(n - 1)", out[5])
        self.assertIn("if (n < 2)", out[6])
        self.assertIn("add (a=4, b=6)", out[8])
        self.assertIn("add (a=3, b=3)", out[9])
        self.assertIn("No more reverse-execution history", out[11])

    def test_watchpoints_in_both_directions(self):
        out = self.gdb_answers("watch counter", "continue", "continue", "reverse-continue", "reverse-continue",
                               "delete", "rwatch scale", "continue", "delete", "awatch origin.x", "continue",
                               "delete", "continue", "watch name", "reverse-continue", program=self.program)
        self.assert_in_order(out[1], "Old value = 0", "New value = 1")
        self.assert_in_order(out[2], "Old value = 1", "New value = 3")
        self.assert_in_order(out[3], "Old value = 3", "New value = 1")
        self.assert_in_order(out[4], "Old value = 1", "New value = 0")
        self.assert_in_order(out[7], "read watchpoint", "Value = 1.5")
        self.assert_in_order(out[10], "Old value = 3", "New value = 34")
        self.assertIn("the program exited with status 7", out[12])
        self.assertIn('"done"', out[14])

    def test_state(self):
        out = self.gdb_answers("break vectors", "continue", "next 2", "p $ymm0.v4_double", "p origin", "x/2wx &origin",
                               "info threads", "info proc mappings", "info sharedlibrary", "p $fs_base != 0",
                               "info registers eflags", "p $st0", "p/x $mxcsr", program=self.program)
        self.assertIn("= {3, 4, 6, 8}", out[3])
        self.assertIn("{x = 3, y = 4}", out[4])
        self.assertIn("0x00000003\t0x00000004", out[5])
        self.assertIn('"steps"', out[6])
        self.assertIn("r-xp", out[7])
        self.assertIn("libc.so", out[8])
        self.assertIn("= 1", out[9])
        self.assertIn("IF", out[10])
        self.assertIn("0x1f80", out[12])

    def test_system_calls(self):
        out = self.gdb_answers("catch syscall write", "continue", "continue", "reverse-continue", "reverse-continue",
                               program=self.program)
        self.assertIn("call to syscall write", out[1])
        self.assertIn("returned from syscall write", out[2])
        self.assertIn("syscall write", out[3])
        self.assertIn("No more reverse-execution history", out[4])

    def test_writes_are_refused(self):
        out = self.gdb_answers("break add", "continue", "print counter = 5", "print $rax = 5", "print counter",
                               program=self.program)
        self.assertIn("Cannot access memory", out[2])
        self.assertIn("rdb: a recorded run cannot be changed", out[3])
        self.assertIn("= 0", out[4])
        self.assertIn("rdb: a recorded run cannot be changed: 4 bytes at 0x", self.server_log())

    def test_calls_run_in_a_copy(self):
        out = self.gdb_answers("break add if a == 2", "continue", "print factorial(5)", "print add(100, 1)",
                               "print add(add(1, 2), 4)", "print (int)strlen(\"hello\")", "print $_siginfo.si_signo",
                               "print counter", "next", "print counter", "print factorial(3)", "print counter = 1",
                               "print $rax = 1", program=self.program)
        self.assertIn("= 120", out[2])
        self.assertIn("= 101", out[3])
        self.assertIn("= 7", out[4])
        self.assertIn("= 5", out[5])
        self.assertIn("= 0", out[6])
        self.assertIn("return a + b;", out[8])
        self.assertIn("= 3", out[9])
        self.assertIn("= 6", out[10])
        self.assertIn("Cannot access memory", out[11])
        self.assertIn("cannot be changed", out[12])

    def test_positions(self):
        out = self.gdb_answers("monitor when", "break factorial", "continue", "monitor bookmark deep", "monitor checkpoint",
                               "monitor goto start", "monitor when", "monitor restart 1", "monitor goto deep",
                               "monitor goto nowhere", "monitor goto 101%", "monitor goto end", "monitor when-end",
                               "monitor info checkpoints", program=self.program)
        self.assertIn("At 0, thread", out[0])
        self.assertIn("At 0, thread", out[6])
        self.assertIn("At checkpoint 1", out[7])
        self.assertIn("rdb: 'nowhere' is no position", out[9])
        self.assertIn("not between 0% and 100%", out[10])
        self.assertIn("exited with status 7", out[12])

    def test_machine_interface(self):
        commands = "-target-select remote {}\n-break-insert add\n-exec-continue\n-exec-next\n-exec-continue --reverse\n" \
                   "-stack-list-frames\n-gdb-exit\n".format(self.address)
        result = self.run_program(["/usr/bin/gdb", "-q", "-nx", "-i=mi", "-ex", "set sysroot /", self.program],
                                  stdin=commands)
        self.assert_in_order(result.out, "^connected", "^done,bkpt=", '*stopped,reason="breakpoint-hit"',
                             '*stopped,reason="end-stepping-range"', '*stopped', "^done,stack=", "^exit")


class OptimisedProgram(SteppedTestCase):
    target = "gdb/steps_o2"

    def test_there_and_back(self):
        out = self.gdb_answers("break add", "continue", "continue", "finish", "reverse-continue", "reverse-continue",
                               "info registers rdi", program=self.program)
        self.assertIn("add (a=1", out[2])
        self.assertIn("add (a=1", out[4])
        self.assertIn("add (a=0", out[5])


class Signals(SteppedTestCase):
    target = "gdb/signals"

    def test_signals_and_the_crash(self):
        out = self.gdb_answers("continue", "break on_signal", "continue", "print number", "delete", "continue",
                               "print $_siginfo.si_signo", "bt", "continue", "reverse-continue", "reverse-continue",
                               program=self.program)
        self.assertIn("SIGUSR1", out[0])
        self.assertIn("on_signal (number=10)", out[2])
        self.assertIn("SIGSEGV", out[5])
        self.assertIn("= 11", out[6])
        self.assertIn("crash", out[5] + out[7])
        self.assertIn("signal 11 ended the program", out[8])
        self.assertIn("SIGUSR1", out[9] + out[10])


class Threads(SteppedTestCase):
    target = "gdb/threads"

    def test_threads(self):
        out = self.gdb_answers("break work", "continue", "info threads", "continue", "thread apply all bt 1",
                               "delete", "watch counts[1]", "continue", "reverse-continue", "delete",
                               "break 20", "continue", "info threads", "print counts", program=self.program)
        self.assertIn("work (which=", out[1])
        self.assertIn("2 ", out[2])
        self.assertIn("Thread 3", out[4])
        self.assert_in_order(out[7], "Old value = 0", "New value = 1")
        self.assert_in_order(out[8], "Old value = 1", "New value = 0")
        self.assertIn("{20, 20}", out[13])


class RandomWalks(SteppedTestCase):
    def test_a_position_has_one_state(self):
        remote = Remote(self.address)
        self.addCleanup(remote.close)
        moves = ["s", "s", "bs", "bs", "c", "bc", "watch", "rwatch", "goto", "look at siginfo"]
        states = walk(self, remote, random.Random(5), self.symbol("add"), self.symbol("counter"), 1500, moves)
        self.assertGreater(len(states), 100)

    def symbol(self, name):
        out = self.gdb_answers(f"print/x (long)&{name}", program=self.program)[0]
        return int(re.search(r"= 0x(\w+)", out).group(1), 16)


class BrokenClients(SteppedTestCase):
    def test_the_server_survives(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.address).st_mode), 0o600)
        rng = random.Random(3)
        for round_ in range(60):
            client = socket.socket(socket.AF_UNIX)
            client.connect(self.address)
            try:
                client.sendall(rng.randbytes(rng.randrange(1, 5000)))
                if round_ % 2:
                    client.sendall(b"$vCont;c#a8")
            except BrokenPipeError:
                pass
            client.close()
        remote = Remote(self.address)
        for packet in ["m0,100", "m10000000000000000,1", "Hg7fffffff", "p1000", "P10=00", "G00", "qXfer:auxv:read::f000,10",
                       "qXfer:features:read:x:0,10", "vFile:open:2f6574632f706173737764,0,0", "vFile:pread:7,10,0",
                       "vCont;s:7ffffff0", "Z9,0,0", "Z2,ffffffffffffffff,8", "qRcmd,zz", "qRcmd,", "X0,ffff:a"]:
            with self.subTest(packet):
                reply = remote.resume(packet)
                self.assertRegex(reply, r"^(E..|E\..*|F-1,.*|T05.*|[0-9a-f]*|)$")
        # A wrong checksum is asked for again, a nack gets the answer again.
        remote.socket.sendall(b"$qC#00")
        self.assertEqual(remote.byte(), b"-")
        first = remote.ask("qC")
        remote.socket.sendall(b"-")
        self.assertEqual(remote.receive(), first)
        self.assertEqual(remote.ask("QStartNoAckMode"), "OK")
        remote.acks = False
        self.assertEqual(remote.ask("qC"), first)
        self.assertEqual(remote.ask("D"), "OK")
        remote.close()
        self.assertIn("At 0", self.gdb_answers("monitor goto start", "monitor when")[1])

    def test_only_recorded_files_are_handed_out(self):
        remote = Remote(self.address)
        for path in ("/etc/passwd", "/proc/self/environ", "/proc/1/maps", "../../etc/passwd"):
            self.assertEqual(remote.ask(f"vFile:open:{path.encode().hex()},0,0"), "F-1,2", path)
        opened = remote.ask(f"vFile:open:{os.path.realpath(self.program).encode().hex()},0,0")
        self.assertRegex(opened, "^F[1-9]")
        self.assertIn("\x7fELF", remote.ask(f"vFile:pread:{opened[1:]},10,0"))
        self.assertEqual(remote.ask(f"vFile:open:{self.program.encode().hex()},1,0"), "F-1,d")
        remote.close()


if __name__ == "__main__":
    harness.main()
