# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever way leads to a position, and whatever a client sends: a position has one state. With --full, much more of
the same."""
import random
import re
import socket

from remote import RecordingTestCase, Remote, harness, walk

FULL = harness.take_flag("--full")
EFFORT = 20 if FULL else 1
MOVES = ["s", "s", "bs", "bs", "c", "bc", "watch", "rwatch", "catch", "rcatch", "goto"]


class RandomWalks(RecordingTestCase):
    function, variable = "add", "counter"

    def test_a_position_has_one_state(self):
        out = self.answers("tbreak main", "continue", f"print/x (long)&{self.function}",
                           f"print/x (long)&{self.variable}")
        entry, counter = (int(re.search(r"= 0x(\w+)", text).group(1), 16) for text in out[2:])
        self.serve()
        remote = Remote(self.address)
        self.addCleanup(remote.close)
        states = walk(self, remote, random.Random(5), entry, counter, 150 * EFFORT, MOVES)
        self.assertGreater(len(states), 30)


class RandomWalksOfThreads(RandomWalks):
    target = "gdb/threads"
    status = 40
    function, variable = "work", "counts[1]"


class RandomWalksOfSignals(RandomWalks):
    target = "gdb/signals"
    status = -11
    function, variable = "on_signal", "handled"


class RandomWalksOfCpp(RandomWalks):
    target = "gdb/cpp"
    arguments = (harness.target("gdb/plugin.so"),)
    status = 13
    function, variable = "descend", "caught"


class HostileClients(RecordingTestCase):
    def test_it_survives_whatever_is_sent(self):
        self.serve()
        rng = random.Random(7)
        packets = [b"qSupported:multiprocess+", b"?", b"g", b"p10", b"G00", b"P10=0011", b"m400000,40", b"M400000,1:00",
                   b"X400000,1:a", b"vCont;s", b"vCont;c", b"bs", b"bc", b"Z0,401000,1", b"Z0,401000,1;X5,2600002700",
                   b"Z2,404000,8", b"z2,404000,8", b"Z3,404000,400", b"QCatchSyscalls:1;1", b"QCatchSyscalls:0",
                   b"QPassSignals:e;10", b"qXfer:auxv:read::0,1000", b"qXfer:libraries-svr4:read::0,1000",
                   b"qXfer:siginfo:read::0,80", b"qXfer:siginfo:write::0:a", b"qXfer:threads:read::0,1000",
                   b"qGetTLSAddr:p1.1,0,400000", b"qSymbol::", b"Hg0", b"Hc-1", b"T1", b"qfThreadInfo",
                   b"vFile:open:2f70726f632f73656c662f6d617073,0,0", b"vFile:pread:1,100,0", b"qThreadExtraInfo,1",
                   b"qRcmd," + b"goto 30%".hex().encode(), b"qRcmd," + b"last-write 4210688 8".hex().encode(),
                   b"qRcmd," + b"checkpoint".hex().encode()]
        before = self.state()
        for _ in range(40 * EFFORT):
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(60)
            client.connect(self.address)
            try:
                for _ in range(rng.randrange(1, 25)):
                    packet = bytearray(rng.choice(packets))
                    for _ in range(rng.choice((0, 0, 1, 3))):
                        packet[rng.randrange(len(packet))] = rng.choice(b"0123456789abcdef;:,*}#$-x\x00\xff")
                    client.sendall(b"$" + packet + b"#%02x" % (sum(packet) % 256))
                    if rng.random() < 0.1:
                        client.sendall(rng.choice((b"\x03", b"-", b"+", b"$", rng.randbytes(20))))
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
            except (BrokenPipeError, ConnectionResetError):
                pass
            client.close()
            self.assertIsNone(self.server.poll(), self.server_log())
        self.assertEqual(self.state(), before)

    def state(self):
        remote = Remote(self.address)
        remote.monitor("goto 40%")
        pc = int.from_bytes(bytes.fromhex(remote.ask("p10")), "little")
        state = remote.where(), remote.ask("g"), remote.ask(f"m{pc:x},100")
        remote.close()
        return state


if __name__ == "__main__":
    harness.main()
