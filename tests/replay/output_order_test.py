# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What threads write at the same time appears on replay byte for byte in the order in which it came out: through
pipes that are full, non-blocking ones, sockets, terminals and files, while descriptors are moved about. A few times by
default, 50 times each with --full."""
import os
import pty
import socket
import stat
import subprocess

import harness

TIMES = 50 if harness.take_flag("--full") else 4


def read_all(fd):
    pieces = []
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:  # a terminal whose other end is closed
            piece = b""
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


class OutputOrder(harness.TestCase):
    def output_of(self, argv, ends):
        """What argv writes to both standard streams, which are `ends[1]`; it comes out of `ends[0]`."""
        self._commands.append(" ".join(argv))
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=ends[1], stderr=ends[1],
                                 env=self.environment(), cwd=self.tmp)
        os.close(ends[1])
        # The end of a file is no end of what is written to it.
        if stat.S_ISREG(os.fstat(ends[0]).st_mode):
            child.wait()
        output = read_all(ends[0])
        os.close(ends[0])
        self.assertEqual(child.wait(), 0, output[-500:])
        return output

    def check(self, make_ends, *arguments, options=()):
        for turn in range(TIMES):
            trace = self.path(f"trace-{turn}")
            seed = ("--seed", str(turn)) if options else ()
            recorded = self.output_of([harness.rdb(), "record", "-q", *options, *seed, "-o", trace, "--",
                                       harness.target("threads/output"), *arguments], make_ends())
            replayed = self.output_of([harness.rdb(), "replay", "--no-module", trace], os.pipe())
            self.assertGreater(len(recorded), 100000)
            self.assertEqual(recorded.replace(b"\r\n", b"\n"), replayed, "the order is another")

    def sockets(self):
        return [end.detach() for end in socket.socketpair()]

    def file(self):
        path = self.write("output", "")
        return [os.open(path, os.O_RDONLY), os.open(path, os.O_WRONLY)]

    def test_pipe(self):
        self.check(os.pipe)

    def test_pipe_in_chaos(self):
        self.check(os.pipe, options=["--chaos"])

    def test_pipe_that_does_not_block(self):
        self.check(os.pipe, "nonblocking")

    def test_socket(self):
        self.check(self.sockets)

    def test_terminal(self):
        self.check(pty.openpty)

    def test_file(self):
        self.check(self.file)

    def test_file_in_chaos(self):
        self.check(self.file, options=["--chaos"])



if __name__ == "__main__":
    harness.main()
