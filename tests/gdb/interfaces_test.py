# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ways to a recording other than gdb's batch mode: a terminal with Ctrl-C, the machine interface of IDEs, a
server's socket, another process of a tree."""
import os
import re
import signal
import stat
import subprocess
import time

from remote import GDB, RecordingTestCase, ServedTestCase, Terminal, harness


class MachineInterface(RecordingTestCase):
    def session(self, argv, *commands):
        """What gdb answers to each command."""
        gdb = subprocess.Popen([*argv, "-nx", "-i=mi3"], cwd=self.tmp, env=self.environment(), text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        answers = []
        try:
            for number, command in enumerate(commands, 1):
                gdb.stdin.write(f"{number}{command}\n")
                gdb.stdin.flush()
                text, result = "", ""
                while not result or (result.startswith(f"{number}^running") and "*stopped" not in text):
                    line = gdb.stdout.readline()
                    self.assertTrue(line, f"gdb ended after {command}:\n{text}")
                    text += line
                    if line.startswith(f"{number}^"):
                        result = line
                answers.append(text)
        finally:
            gdb.kill()
            gdb.wait()
            gdb.stdin.close()
            gdb.stdout.close()
        return answers

    def test_stepping_and_looking(self):
        out = self.session(
            [harness.rdb(), "gdb", "--"], "-break-insert add", "-exec-continue", "-thread-info", "-stack-list-frames",
            "-stack-list-variables --simple-values", "-data-evaluate-expression counter", "-exec-next", "-exec-next",
            "-exec-next --reverse", "-exec-continue", "-exec-finish", "-exec-step-instruction --reverse",
            "-exec-continue --reverse", "-break-delete 1", "-break-watch counter", "-exec-continue",
            "-exec-continue --reverse", "-break-delete 2", '-interpreter-exec console "goto end"', "-stack-info-frame",
            "-exec-continue --reverse", "-exec-continue", "-data-list-register-names 16",
            "-data-list-register-values x 16")
        self.assertIn('func="add"', out[1])
        self.assertIn('reason="breakpoint-hit"', out[1])
        self.assertIn('current-thread-id="1"', out[2])
        self.assertIn('level="1"', out[3])
        self.assertIn('{name="a",arg="1",type="int",value="0"}', out[4])
        self.assertIn('value="0"', out[5])
        self.assertIn('reason="end-stepping-range"', out[6])
        self.assertIn('line="23"', out[6])
        self.assertIn('line="23"', out[8])
        self.assertIn('{name="a",value="1"}', out[9])
        self.assertIn('gdb-result-var="$1"', out[10])
        self.assertIn('func="add"', out[11])
        self.assertIn('{name="a",value="1"}', out[12])
        self.assertIn('value={old="0",new="1"}', out[15])
        self.assertIn('value={old="1",new="0"}', out[16])
        self.assertIn('func="__GI__exit"', out[19].replace('func="_exit"', 'func="__GI__exit"'))
        self.assertIn("No more reverse-execution history", out[20])
        self.assertIn("No more reverse-execution history", out[21])
        self.assertIn('"rip"', out[22])

    def test_as_an_ide_connects(self):
        self.start([harness.rdb(), "gdb", "--server", "0"])
        port = self.port()
        out = self.session(
            [GDB], "-gdb-set target-async on", f'-file-exec-and-symbols {self.program}',
            f"-target-select remote localhost:{port}", "-break-insert -f main", "-exec-continue",
            "-exec-next", "-exec-next --reverse", '-interpreter-exec console "monitor when"', "-target-detach")
        self.assertIn("^connected", out[2])
        self.assertIn('func="main"', out[4])
        self.assertIn('line="35"', out[5])
        self.assertIn('line="34"', out[6])
        self.assertIn("At ", out[7])
        self.assertIn("^done", out[8])

    def port(self):
        while not (found := re.search(r"127\.0\.0\.1:(\d+)", self.server_log())):
            self.assertIsNone(self.server.poll(), self.server_log())
        return int(found[1])

    def test_a_port_is_open_on_this_machine_only(self):
        self.start([harness.rdb(), "gdb", "--server", "0"])
        port = self.port()
        with open("/proc/net/tcp", encoding="ascii") as file:
            listening = [line.split()[1] for line in file if line.split()[3] == "0A"]
        self.assertEqual([place for place in listening if place.endswith(f":{port:04X}")], [f"0100007F:{port:04X}"])


class Server(RecordingTestCase):
    def test_the_socket_is_its_owners(self):
        self.serve()
        self.assertEqual(stat.S_IMODE(os.stat(self.address).st_mode), 0o600)
        # A second server does not take it away; one that was killed does not keep it.
        result = self.rdb("gdb", "--server", self.address)
        self.assertEqual((result.status, result.out), (2, ""))
        self.assertIn("Address already in use", result.err)
        self.stop()
        self.assertTrue(os.path.exists(self.address))
        os.rename(self.address, self.path("t"))
        self.start([harness.rdb(), "gdb", "--server", self.path("t")])
        while "serving" not in self.server_log():
            self.assertIsNone(self.server.poll(), self.server_log())
        self.server.send_signal(signal.SIGTERM)
        self.server.wait()
        self.assertFalse(os.path.exists(self.path("t")))

    def test_places_that_cannot_be_served_on(self):
        for where in ("/no/such/place/s", "70000", self.write("file", "mine")):
            result = self.rdb("gdb", "--server", where)
            self.assertEqual(result.status, 2, result)
            self.assertEqual(result.err.count("\n"), 1, result)
        self.assertTrue(os.path.exists(self.path("file")))

    def test_monitor_commands(self):
        self.serve()
        out = self.gdb_answers("monitor when", "monitor goto end", "monitor when", "monitor bookmark over",
                               "monitor checkpoint", "monitor goto 50%", "monitor goto over", "monitor restart 1",
                               "monitor info checkpoints", "monitor when-end", "monitor help", "monitor goto",
                               "monitor nothing", program=self.program)
        self.assertIn("At 0, thread", out[0])
        self.assertIn("flush register-cache", out[1])
        self.assertIn("Bookmark over at", out[3])
        self.assertIn("At checkpoint 1", out[7])
        self.assertIn("exited with status 7", out[9])
        self.assertIn("last-write ADDRESS SIZE", out[10])
        self.assertIn("rdb: goto needs a time", out[11])
        self.assertIn("rdb: unknown command", out[12])


class ControlC(RecordingTestCase):
    target = "gdb/long"
    arguments = ("300", "1")
    status = 43

    def interrupt(self, terminal, command, packet):
        # gdb drops what is typed before it has sent its request, and gives up if it is typed twice behind that.
        sent = self.sent(packet)
        terminal.type(command + "\n")
        deadline = time.monotonic() + 60
        while self.sent(packet) == sent:
            self.assertLess(time.monotonic(), deadline)
        terminal.type("\x03")
        self.assertIn("received signal SIGINT", terminal.expect("(gdb) "))

    def sent(self, packet):
        with open(self.path("packets"), encoding="utf-8") as file:
            return file.read().count(f"${packet}")

    def test_both_directions_can_be_interrupted(self):
        words = [harness.rdb(), "gdb", "--", "-q", "-nx", "-iex", "set remotelogfile packets"]
        terminal = Terminal(words, self.environment(), self.tmp)
        self.addCleanup(terminal.close)
        terminal.expect("(gdb) ")
        terminal.ask("set pagination off")
        terminal.type("continue\n")
        terminal.expect("begins")
        terminal.type("\x03")
        self.assertIn("received signal SIGINT", terminal.expect("(gdb) "))
        forward = int(re.search(r"At (\d+)", terminal.ask("when"))[1])
        end = int(re.search(r"ends at (\d+)", terminal.ask("when-end"))[1])
        self.assertLess(0, forward)
        self.assertLess(forward, end)
        self.interrupt(terminal, "goto end", "vCont")
        on_the_way = int(re.search(r"At (\d+)", terminal.ask("when"))[1])
        self.assertLessEqual(forward, on_the_way)
        self.assertLess(on_the_way, end)
        terminal.ask("goto end")
        self.interrupt(terminal, "reverse-continue", "bc")
        # Interrupted while it looked for a place to stop at: the program is where it was.
        self.assertEqual(int(re.search(r"At (\d+)", terminal.ask("when"))[1]), end)
        # Nothing writes there: all of the recording is searched.
        self.interrupt(terminal, "last-write 4096", "vCont")
        self.assertEqual(int(re.search(r"At (\d+)", terminal.ask("when"))[1]), end)
        # All goes on as if nothing had happened.
        terminal.ask("break spin if turns_done == 3")
        self.assertIn("Breakpoint 1, ", terminal.ask("reverse-continue"))
        self.assertIn("= 3", terminal.ask("print turns_done"))
        terminal.type("quit\n")
        terminal.type("y\n")


    def test_questions_can_be_interrupted(self):
        for words in (("last-write", "4096"), ("history", "turns_done", "--at", "spin"),
                      ("history", "turns_done", "--at", "main")):
            folder = self.path("temporary")
            os.makedirs(folder, exist_ok=True)
            asked = subprocess.Popen([harness.rdb(), *words], cwd=self.tmp, env=self.environment() | {"TMPDIR": folder},
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(asked.stdout.close)
            self.addCleanup(asked.stderr.close)
            self.addCleanup(asked.wait)
            self.addCleanup(asked.kill)
            if words[0] == "history":
                self.assertIn("main (long.c:", asked.stdout.readline())
            else:
                self.wait_for_gdb(asked)
            asked.send_signal(signal.SIGINT)
            self.assertEqual(asked.wait(60), 130, asked.stderr.read())
            self.assertEqual(asked.stderr.read(), "")
            self.assertEqual(os.listdir(folder), [])

    def wait_for_gdb(self, parent):
        while parent.poll() is None:
            with open(f"/proc/{parent.pid}/task/{parent.pid}/children", encoding="ascii") as file:
                children = file.read().split()
            for child in children:
                try:
                    with open(f"/proc/{child}/comm", encoding="ascii") as file:
                        if file.read() == "gdb\n":
                            return
                except OSError:
                    pass
        self.fail("it ended by itself")


class ProcessTree(RecordingTestCase):
    target = "gdb/tree"
    status = 3

    def test_each_process_has_its_own_history(self):
        shown = self.rdb("ps", status=0).out
        names = [line.split()[0] for line in shown.splitlines()[1:]]
        self.assertEqual(len(names), 3, shown)
        for generation, name in enumerate(names):
            out = self.answers("break tree.c:20", "continue", "print generation", "info threads", "delete",
                               "break main", "reverse-continue", "delete", "goto end", "watch generation",
                               "reverse-continue", "print generation", options=("-p", name))
            self.assertIn(f"= {generation}", out[2])
            self.assertIn(f"Thread {name}.{name} ", out[3])
            self.assertIn("main () at", out[6])
            if generation == 0:
                self.assertIn("No more reverse-execution history", out[10])
            else:
                self.assertIn(f"= {generation - 1}", out[11])
        result = self.rdb("gdb", "-p", "nobody")
        self.assertEqual(result.status, 2, result)
        self.assertIn("no process nobody in it; rdb ps lists them", result.err)


class ReplacedProgram(ServedTestCase):
    answers = RecordingTestCase.answers

    def test_both_programs_of_a_process(self):
        self.rdb("record", "--", "/bin/sh", "-c", f"exec {harness.target('gdb/steps')}", status=7)
        names = [line.split()[0] for line in self.rdb("ps", status=0).out.splitlines()[1:]]
        self.assertEqual(names[1], names[0] + ".2")
        out = self.answers("when-end", "continue", options=("-p", names[0]))
        self.assertIn("another program took its place; rdb ps lists it", out[0])
        self.assertIn("another program took its place; rdb ps lists it", out[1])
        for options in ((), ("-p", names[1])): # the last one if not said otherwise
            out = self.answers("break add", "continue", "when-end", options=options)
            self.assertIn("add (a=0, b=0)", out[1])
            self.assertIn("exited with status 7", out[2])


if __name__ == "__main__":
    harness.main()
