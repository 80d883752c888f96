# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Linux does with signals, processes and refused calls: programs that each check a rule (tests/targets/rules/*.c) behave
natively, under rdb run, when recorded, and in two replays alike."""
import os
import pty
import select
import shutil
import signal
import subprocess

import harness

RULES = ["bad_pages", "clone_flags", "cut_frames", "fetch_faults", "frame_room", "futex_words", "handler_state", "init_death", "pidfd_numbers",
         "refused_errors", "robust_cut", "robust_kill", "timer_calls", "wait_masks"]

# timer_calls makes no progress without rdb where a signal takes longer than its interval, as it may in a virtual machine.
NATIVE_ARGUMENTS = {"timer_calls": ["1000"]}


def rule(name):
    return harness.target("rules/" + name)


class Rules(harness.TestCase):
    def native(self, name):
        return self.run_program([rule(name), *NATIVE_ARGUMENTS.get(name, [])])

    def record(self, command, native, *options):
        trace = self.path(f"trace-{len(self._commands)}")
        recorded = self.rdb("record", "-q", "--checksum", *options, "-o", trace, *command)
        self.assertEqual((recorded.out, recorded.status), (native.out, native.status), f"\n{recorded}")
        self.assertNotIn("internal error", recorded.err)
        return trace

    def test_all(self):
        for name in RULES:
            with self.subTest(name):
                native = self.native(name)
                self.assertGreater(len(native.out.splitlines()), 2, f"\n{native}")
                live = self.rdb("run", rule(name))
                self.assertEqual((live.out, live.status), (native.out, native.status), f"\n{live}")
                trace = self.record([rule(name)], native)
                for _ in range(2):
                    replayed = "".join(result.out for _, result in self.replay_processes(trace))
                    self.assertEqual(sorted(replayed.splitlines()), sorted(native.out.splitlines()))

    def test_all_in_chaos(self):
        for name in ("frame_room", "handler_state", "robust_kill", "timer_calls", "wait_masks"):
            native = self.native(name)
            for seed in ("1", "2"):
                with self.subTest(name, seed=seed):
                    self.record([rule(name)], native, "--chaos", "--seed", seed)

    def test_signals_to_the_own_group(self):
        """They end the program as natively, and do not end its recorder before it has written the end."""
        numbers = [number for number in range(1, 65)
                   if number not in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)]
        for number in numbers:
            for how in ("group", "named-group") if number in (signal.SIGABRT, signal.SIGKILL, signal.SIGTERM) else ("group",):
                with self.subTest(how, number=number):
                    self.check_kill(how, number)

    def test_sigkill_to_itself(self):
        for how in ("self", "thread", "child"):
            with self.subTest(how):
                self.check_kill(how, signal.SIGKILL)
        self.check_kill("child", signal.SIGABRT)

    def check_kill(self, how, number):
        command = [rule("kill_self"), how, str(int(number))]
        native = self.run_program(command)
        self.assertTrue(native.out.startswith("before\n"), f"\n{native}")
        live = self.rdb("run", *command)
        self.assertEqual((live.out, live.status), (native.out, native.status), f"\n{live}")
        trace = self.record(command, native)
        if how == "child" and number == signal.SIGKILL:
            return  # it comes from another process, and nobody sees it come
        for _ in range(2):
            replayed = self.rdb("replay", trace)
            self.assertEqual((replayed.out, replayed.status), (native.out, native.status), f"\n{replayed}")
            self.assertNotIn("the recording ends", replayed.err)

    def test_signals_to_all_processes(self):
        """In a PID namespace, where all are few: the shell is its first process, and the sleeper is ended."""
        inside = ("/bin/sleep 1000 & sleeper=$!; %s 2>/dev/null; echo status $?; wait $sleeper; echo sleeper $?")
        results = []
        for words in ([], [harness.rdb(), "record", "-q", "-o", self.path("trace")]):
            command = " ".join([*words, rule("kill_self"), "all"])
            for number in ("15", "9"):
                shutil.rmtree(self.path("trace"), ignore_errors=True)
                result = self.run_program(["/usr/bin/unshare", "--pid", "--fork", "--mount-proc", "/bin/sh", "-c",
                                           inside % f"{command} {number}"])
                if result.status != 0 and "unshare" in result.err:
                    self.skipTest(result.err)
                results.append((result.out, result.status))
                if words:
                    replayed = self.rdb("replay", self.path("trace"), status=3)
                    self.assertEqual(replayed.out, "before\nafter\n")
        self.assertEqual(results[2:], results[:2])
        self.assertEqual(results[0][0], "before\nafter\nstatus 3\nsleeper 143\n")

    def test_the_terminal_is_the_groups(self):
        """In the foreground of a terminal the program finds its own group there; Ctrl-Z stops it and rdb, Ctrl-C ends it."""
        script = ("import os, signal, time\n"
                  "signal.signal(signal.SIGCONT, lambda number, frame: print('continued', flush=True))\n"
                  "print('foreground', os.tcgetpgrp(0) == os.getpgrp(), 'session', os.getsid(0) == os.getsid(os.getppid()), "
                  "flush=True)\n"
                  "while True: time.sleep(0.01)\n")  # pause() may begin when Python has noted a signal, and wait for another
        for words in ([], [harness.rdb(), "record", "-q", "-o", self.path("trace")]):
            with self.subTest(words):
                # A shell with job control starts each job in a group of its own.
                child, terminal = pty.fork()
                if child == 0:
                    os.chdir(self.tmp)
                    os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], dict(self.environment(), PS1="prompt> "))
                self.addCleanup(os.waitpid, child, 0)
                self.addCleanup(os.close, terminal)  # ends the shell
                command = subprocess.list2cmdline([*words, "/usr/bin/python3", self.write("job.py", script)])
                self.read_until(terminal, b"prompt> ")
                os.write(terminal, f"{command}\n".encode())
                self.read_until(terminal, b"foreground True session True\r\n")
                os.write(terminal, b"\x1a")
                self.read_until(terminal, b"Stopped", b"prompt> ")
                os.write(terminal, b"fg\n")
                self.read_until(terminal, b"continued\r\n")  # the terminal is the job's again
                os.write(terminal, b"\x03")
                self.read_until(terminal, b"KeyboardInterrupt", b"prompt> ")
                os.write(terminal, b"echo status $?\n")
                self.read_until(terminal, b"status 130", b"prompt> ")
                os.write(terminal, b"exit\n")
        replayed = self.rdb("replay", self.path("trace"))
        self.assertEqual((replayed.out, replayed.status), ("foreground True session True\ncontinued\n", -signal.SIGINT),
                         f"\n{replayed}")

    def read_until(self, terminal, *texts):
        """Until these have come, one after the other."""
        seen = b""
        for text in texts:
            while text not in seen:
                if not select.select([terminal], [], [], 60)[0]:
                    self.fail(f"expected {text}, found {seen}")
                seen += os.read(terminal, 1024)
            seen = seen.split(text, 1)[1]

    def test_a_pipeline(self):
        """The reader ends early: the program gets SIGPIPE, rdb ends as the program."""
        for words in ("", f"{harness.rdb()} record -q -o {self.path('trace')}"):
            result = self.run_program(["/bin/bash", "-c", f"{words} /usr/bin/yes | /usr/bin/head -1; echo ${{PIPESTATUS[0]}}"])
            self.assertEqual(result.out, "y\n141\n", f"\n{result}")
        self.rdb("replay", self.path("trace"), status=-signal.SIGPIPE)


class Notes(harness.TestCase):
    def test_harmless_refusals_are_told_on_request(self):
        script = ("import ctypes, fcntl, socket\n"
                  "lib = ctypes.CDLL(None)\n"
                  "print(lib.syscall(330, 0, 0), lib.syscall(179, 0, 0, 0, 0))\n"
                  "try: fcntl.ioctl(socket.socket(), 0x8946, b'lo' + bytes(38))\n"
                  "except OSError as error: print(error.errno)\n")
        for command in (["run"], ["record", "-q"]):
            quiet = self.rdb(*command, "/usr/bin/python3", "-c", script, status=0)
            self.assertEqual((quiet.out, quiet.err), ("-1 -1\n95\n", ""))
            # execve hands it on.
            for words in ([], ["/usr/bin/env"]):
                told = self.rdb(*command, "-v", *words, "/usr/bin/python3", "-c", script, status=0)
                self.assertEqual(told.out, quiet.out)
                for name in ("pkey_alloc (the program gets ENOSPC)", "quotactl (the program gets ENOSYS)",
                             "ioctl SIOCETHTOOL (the program gets EOPNOTSUPP)"):
                    self.assertEqual(told.err.count(f"rdb: not supported: the system call {name}\n"), 1, f"\n{told}")


class Privileges(harness.TestCase):
    """What a program loses when rdb starts it, rdb says."""
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("not root")
        os.chmod(self.tmp, 0o755)
        self.program = self.path("program")
        shutil.copy("/usr/bin/id", self.program)

    def check(self, line, *words):
        for command in (["run"], ["record", "-q", "-o", self.path("trace")]):
            result = self.run_program([*words, harness.rdb(), *command, self.program, "-u"], status=0)
            self.assertEqual(result.err, line, f"\n{result}")
            shutil.rmtree(self.path("trace"), ignore_errors=True)

    def test_set_user_id(self):
        os.chown(self.program, 65534, 65534)
        os.chmod(self.program, 0o4755)
        self.check(f"rdb: {self.program} is set-user-id: under rdb it runs without\n")
        self.check("", "/usr/bin/setpriv", "--no-new-privs")  # nothing to lose
        inside = self.rdb("run", "/bin/sh", "-c", f"{self.program} -u; echo $?")
        self.assertEqual(inside.out, "126\n")
        self.assertIn(f"rdb: not supported: execve of the set-user-id program {self.program} (the program gets EPERM)\n",
                      inside.err)

    def test_set_group_id(self):
        os.chown(self.program, 0, 65534)
        os.chmod(self.program, 0o2755)
        self.check(f"rdb: {self.program} is set-group-id: under rdb it runs without\n")
        inside = self.rdb("run", "/bin/sh", "-c", f"{self.program} -u; echo $?")
        self.assertEqual(inside.out, "126\n")
        self.assertIn(f"rdb: not supported: execve of the set-group-id program {self.program} (the program gets EPERM)\n",
                      inside.err)

    def test_file_capabilities(self):
        net_raw = 1 << 13
        try:
            os.setxattr(self.program, "security.capability",
                        b"".join(word.to_bytes(4, "little") for word in (0x02000001, net_raw, 0, 0, 0)))
        except OSError as error:
            self.skipTest(str(error))
        self.check("")  # root has them all
        nobody = ["/usr/bin/setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=+all"]
        line = f"rdb: {self.program} has file capabilities: under rdb it runs without\n"
        result = self.run_program([*nobody, harness.rdb(), "run", self.program, "-u"])
        if result.status != 0 and "Permission denied" in result.err:
            self.skipTest("rdb is where others cannot run it")
        self.assertEqual((result.out, result.err), ("65534\n", line), f"\n{result}")
        inside = self.run_program([*nobody, harness.rdb(), "run", "/bin/sh", "-c", f"{self.program} -u; :"])
        self.assertEqual((inside.out, inside.err), ("65534\n", line), f"\n{inside}")


if __name__ == "__main__":
    harness.main()
