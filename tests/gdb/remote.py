# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A debugger's side of the remote protocol, packet by packet, and a real gdb in batch mode."""
import os
import pty
import re
import select
import socket
import subprocess
import time

import harness

GDB = "/usr/bin/gdb"


class Remote:
    """One connection to a server."""

    def __init__(self, address):
        if address.startswith("/"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(address)
        else:
            host, port = address.split(":")
            self.socket = socket.create_connection((host, int(port)))
        self.socket.settimeout(60)
        self.data = b""
        self.acks = True

    def close(self):
        self.socket.close()

    def byte(self):
        if not self.data:
            self.data = self.socket.recv(65536)
            if not self.data:
                raise EOFError("the server closed the connection")
        first, self.data = self.data[:1], self.data[1:]
        return first

    def send(self, packet):
        if isinstance(packet, str):
            packet = packet.encode()
        self.socket.sendall(b"$" + packet + b"#%02x" % (sum(packet) % 256))

    def receive(self):
        while (byte := self.byte()) != b"$":
            assert byte in b"+-", byte
        body = b""
        while (byte := self.byte()) != b"#":
            body += byte
        checksum = int(self.byte() + self.byte(), 16)
        assert checksum == sum(body) % 256, body
        if self.acks:
            self.socket.sendall(b"+")
        out, i = b"", 0
        while i < len(body):
            if body[i:i + 1] == b"*":
                out += out[-1:] * (body[i + 1] - 29)
                i += 2
            elif body[i:i + 1] == b"}":
                out += bytes([body[i + 1] ^ 0x20])
                i += 2
            else:
                out += body[i:i + 1]
                i += 1
        return out.decode("latin-1")

    def ask(self, packet):
        self.send(packet)
        return self.receive()

    def resume(self, packet):
        """Sends a packet that moves; returns the stop reply, with what was printed before it left out."""
        self.send(packet)
        while (reply := self.receive()).startswith("O") and reply != "OK":
            pass
        return reply

    def monitor(self, command):
        reply = self.ask("qRcmd," + command.encode().hex())
        return "" if reply == "OK" else bytes.fromhex(reply).decode()

    def where(self):
        return re.match(r"At ([0-9.]+), thread", self.monitor("when")).group(1)


def batch(*commands):
    """gdb's words for these commands; answers_of() takes apart what it prints for them."""
    words = ["-nx", "-batch", "-ex", "set width 0", "-ex", "set print entry-values no"]
    for command in commands:
        words += ["-ex", f"echo >>> {command}\\n", "-ex", command]
    return words


def answers_of(out):
    """One text for each command."""
    return [part.split("\n", 1)[1] for part in out.split(">>> ")[1:]]


def walk(test, remote, rng, entry, counter, rounds, moves):
    """Moves about at random; whatever way leads to a position, its state must be the same. The states."""
    remote.ask("qSupported:multiprocess+;swbreak+")
    states = {}
    for _ in range(rounds):
        move = rng.choice(moves)
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
        elif move in ("catch", "rcatch"):
            remote.ask("QCatchSyscalls:1")
            remote.resume("vCont;c" if move == "catch" else "bc")
            remote.ask("QCatchSyscalls:0")
        elif move == "goto":
            remote.monitor(f"goto {rng.randrange(101)}%")
        else:
            remote.ask("qXfer:siginfo:read::0,80")
        position = remote.monitor("when")
        state = []
        for thread in remote.ask("qfThreadInfo")[1:].split(","):
            remote.ask("Hg" + thread)
            stack = int.from_bytes(bytes.fromhex(remote.ask("p7")), "little")
            state.append((thread, remote.ask("g"), remote.ask(f"m{stack:x},200")))
        state.append(remote.monitor("state-hash"))
        test.assertEqual(states.setdefault(position, state), state, f"{move} to {position}")
    return states


class Terminal:
    """A program on a terminal of its own, as a user has it in front of him."""

    def __init__(self, argv, env, cwd):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(argv[0], argv, env)
        self.text = ""

    def expect(self, wanted, timeout=100):
        """Reads until the text appears; what came before it, and the text."""
        if not self.shows(wanted, timeout):
            raise AssertionError(f"no {wanted!r} in\n{self.text}")
        end = self.text.index(wanted) + len(wanted)
        shown, self.text = self.text[:end], self.text[end:]
        return shown

    def shows(self, wanted, timeout):
        """Whether the text appears within that time."""
        deadline = time.monotonic() + timeout
        while wanted not in self.text:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                return False
            self.text += os.read(self.fd, 65536).decode(errors="replace").replace("\r", "")
        return True

    def type(self, text):
        os.write(self.fd, text.encode())

    def ask(self, command):
        """What a command shows, up to the next prompt."""
        self.type(command + "\n")
        return self.expect("(gdb) ")

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class ServedTestCase(harness.TestCase):
    """Serves something and drives gdb against it. Subclasses define start_server()."""

    def start(self, argv):
        """Starts a server that prints its address as the first line (its last word)."""
        self.log = open(self.path("server.err"), "w+", encoding="utf-8")
        self.addCleanup(self.log.close)
        self.server = subprocess.Popen(argv, cwd=self.tmp, env=self.environment(), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=self.log, text=True)
        self._commands.append(" ".join(argv))
        self.addCleanup(self.stop)

    def stop(self):
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()

    def server_log(self):
        self.log.flush()
        with open(self.path("server.err"), encoding="utf-8") as file:
            return file.read()

    def gdb(self, *commands, program=None, timeout=120):
        """What gdb prints for the commands, after it has connected."""
        argv = [GDB, "-q", "-ex", "set sysroot /", "-ex", f"target remote {self.address}", *batch(*commands)]
        if program:
            argv.append(program)
        return self.all_output(argv, timeout)

    def all_output(self, argv, timeout):
        """What a program prints, with what it says about errors between the rest."""
        return self.run_program(["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", *argv], timeout=timeout).out

    def gdb_answers(self, *commands, **how):
        """The same, as a list: one text for each command."""
        return answers_of(self.gdb(*commands, **how))

    def assert_in_order(self, text, *parts):
        place = 0
        for part in parts:
            found = text.find(part, place)
            self.assertGreaterEqual(found, 0, f"no {part!r} after the others in\n{text}")
            place = found + len(part)


class RecordingTestCase(ServedTestCase):
    """Records a target and debugs the recording."""
    target = "gdb/steps"
    arguments = ()
    status = 7

    def setUp(self):
        super().setUp()
        self.program = harness.target(self.target)
        self.rdb("record", "--", self.program, *self.arguments, status=self.status)

    def answers(self, *commands, options=(), timeout=120):
        """What `rdb gdb` prints, as a list: one text for each of gdb's commands."""
        return answers_of(self.all_output([harness.rdb(), "gdb", *options, "--", *batch(*commands)], timeout))

    def serve(self, *options):
        """Starts a server on a socket; waits until it is there."""
        self.address = self.path("s")
        self.start([harness.rdb(), "gdb", "--server", self.address, *options])
        deadline = time.monotonic() + 60
        while not os.path.exists(self.address):
            self.assertLess(time.monotonic(), deadline, self.server_log())
            time.sleep(0.02)
