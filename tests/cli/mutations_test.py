# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recordings, archives and bundles in which something was changed by chance, with every command that reads them: none
crashes, hangs, takes much memory or blames itself, and what is refused is refused in one line.

The changes come from a seed: mutations_test.py --seed N --rounds N tries others."""
import os
import random
import shutil
import subprocess
import threading

import harness

MAKE_TRACE = os.path.join(harness.BUILD, "tests", "make_trace")
ZSTD = "/usr/bin/zstd"
MOST_MEMORY = 700 << 20
TIMEOUT = 60

SEED = harness.take_number("--seed", 1)
ROUNDS = harness.take_number("--rounds", 40)

# What the text formats are made of, to be put where it does not belong.
TOKENS = [b"[", b"{", b"]", b"}", b",", b":", b"\"", b"null", b"-1", b"1e999", b"18446744073709551616", b"\\ud800", b"\\u0000",
          b"\x00", b"\xff", b"\x1b[2J", b"\n", b"0", b"99999999999", b"../../x", b"/", b"latest", b"true", b" ", b"{\"hex\": 3}",
          b"[" * 5000, b"\"" + b"a" * 5000 + b"\"", b"0x", b"@1", b"end", b"unread", b"-"]


def mutated(data, chance):
    """The same bytes with one to four changes."""
    data = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        size = chance.choice([1, 2, 8, 64, 512])
        kind = chance.randrange(7)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1 and at < len(data):
            data[at] = chance.randrange(256)
        elif kind == 2:
            del data[at:at + size]
        elif kind == 3:
            data[at:at] = data[at:at + size] * chance.choice([1, 2, 50])
        elif kind == 4:
            data[at:at + chance.choice([0, 1, 8])] = chance.choice(TOKENS)
        elif kind == 5:
            other = chance.randrange(len(data) + 1)
            data[at:at + size], data[other:other + size] = data[other:other + size], data[at:at + size]
        else:
            del data[at:]
    return bytes(data)


def with_checksum(header):
    """A tar header that is not refused at once."""
    header = header[:512].ljust(512, b"\0")
    total = sum(header[:148]) + sum(header[156:]) + 8 * ord(" ")
    return header[:148] + b"%06o\0 " % total + header[156:]


class Mutations(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.chance = random.Random(SEED)
        self.change = ""

    def run_command(self, *args):
        """Runs rdb to its end; its status and what it wrote to both streams."""
        argv = [harness.rdb(), *args]
        self._commands[:] = self._commands[-1:] + [f"cd {self.tmp} && RDB_TRACE_DIR={self.path('traces')} {' '.join(argv)}"]
        with open(self.path("out"), "wb") as out, open(self.path("err"), "wb") as err:
            child = subprocess.Popen(argv, cwd=self.tmp, env=self.environment(), stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=err, start_new_session=True)
        late = []
        timer = threading.Timer(TIMEOUT, lambda: (late.append(True), os.killpg(child.pid, 9)))
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        with open(self.path("err"), encoding="utf-8", errors="replace") as err:
            said = err.read()
        self.assertFalse(late, f"{self.change}: still running")
        self.assertLess(usage.ru_maxrss << 10, MOST_MEMORY, f"{self.change}\n{said}")
        return child.returncode, said

    def check(self, *args, statuses=(0, 2)):
        status, said = self.run_command(*args)
        self.assertIn(status, statuses, f"{self.change}\n{said}")
        self.assertNotIn("internal error", said, self.change)
        if status == 2:  # notes may come before the one line that says why
            self.assertRegex(said, r"\A(rdb: [^\n]*\n)+\Z", self.change)
        if status == 125:
            self.assertRegex(said, r"rdb: [^\n]*\n\Z", self.change)

    def each_mutation(self, path):
        """Gives the file other bytes, again and again, and at last its own."""
        with open(path, "rb") as file:
            original = file.read()
        for number in range(ROUNDS):
            with open(path, "wb") as file:
                file.write(mutated(original, self.chance))
            self.change = f"change {number} of {os.path.basename(path)}, seed {SEED}"
            yield number
        with open(path, "wb") as file:
            file.write(original)

    def make(self):
        program = self.write("sample", "the program's bytes\n")
        return self.run_program([MAKE_TRACE, "exit", program], status=0).out.strip()

    def test_metadata(self):
        trace = self.make()
        process = next(name for name in os.listdir(trace) if name[0].isdigit())
        for name in "metadata.json", process + "/process.json":
            for _ in self.each_mutation(os.path.join(trace, name)):
                for command in ["ls"], ["info", trace], ["info", "--json", trace], ["ps", trace], ["dump", trace], \
                        ["dump", "--files", trace], ["dump", "--chunks", "--picture", "p.svg", trace], ["pack", trace, "t.zst"]:
                    self.check(*command)
        shutil.copytree(trace, self.path("copy"))
        for _ in self.each_mutation(os.path.join(self.path("copy"), "metadata.json")):
            self.check("rm", "./copy")
            shutil.rmtree(self.path("copy"), ignore_errors=True)
            shutil.copytree(trace, self.path("copy"))

    def test_a_recorded_run(self):
        self.rdb("record", "-q", "-o", "trace", "/bin/echo", "hello", status=0)
        trace = self.path("trace")
        process = next(name for name in os.listdir(trace) if name[0].isdigit())
        for name in "metadata.json", process + "/process.json":
            for number in self.each_mutation(os.path.join(trace, name)):
                self.check("replay", trace, statuses=(0, 2, 125))
                if number % 4 == 0:
                    self.check("history", "$rip", "--at", "main", trace, statuses=(0, 1, 2, 125))
                    self.check("print", trace, "@main", "$rip", statuses=(0, 1, 2, 125))

    def test_logs_and_stored_files(self):
        self.rdb("record", "-q", "-o", "trace", "/bin/echo", "hello", status=0)
        trace = self.path("trace")
        process = next(name for name in os.listdir(trace) if name[0].isdigit())
        stored = min((os.path.join("files", name) for name in os.listdir(trace + "/files")),
                     key=lambda name: os.path.getsize(os.path.join(trace, name)))
        for name in process + "/inputs", process + "/chunks", stored:
            for number in self.each_mutation(os.path.join(trace, name)):
                if number >= ROUNDS // 2:
                    continue
                # A log is good up to where it is damaged.
                for command in ["info", trace], ["ps", trace], ["dump", trace], ["dump", "--chunks", trace], ["replay", trace]:
                    self.check(*command, statuses=(0, 2, 125))

    def test_archives(self):
        trace = self.make()
        self.rdb("pack", trace, "good.zst", status=0)
        plain = self.run_program([ZSTD, "-dqc", "good.zst"], text=False, status=0).out
        with open(self.path("good.zst"), "rb") as file:
            packed = file.read()
        for number in range(2 * ROUNDS):
            self.change = f"archive {number}, seed {SEED}"
            if number % 2 == 0:  # the compressed bytes
                archive = mutated(packed, self.chance)
            else:  # what is inside; headers come every 512 bytes, most of the file is data
                at = self.chance.randrange(0, min(len(plain), 8192), 512)
                header = mutated(plain[at:at + 512], self.chance)
                if self.chance.randrange(4) != 0:
                    header = with_checksum(header)
                archive = plain[:at] + header + plain[at + 512:]
                archive = self.run_program([ZSTD, "-qc"], stdin=archive, text=False, status=0).out
            with open(self.path("bad.zst"), "wb") as file:
                file.write(archive)
            self.check("unpack", "bad.zst", "-o", "copy")
            self.assertEqual([name for name in os.listdir(self.tmp) if "unpack" in name], [])
            if os.path.exists(self.path("copy")):
                self.check("info", "./copy")
                self.rdb("rm", "./copy", status=0)

    @harness.needs_compiler
    def test_bundles(self):
        self.write("prog.c", "#include <stdio.h>\nint main(int argc, char** argv) {\n  int n = argc * 7;\nrdb_begin\n"
                   "  printf(\"%d %s\\n\", n, argv[0]);\nrdb_end\n  puts(\"end\");\n  return n - 7;\n}\n")
        self.run_program([harness.program("rdb-clang"), "-g", "-O1", "prog.c", "-o", "prog"], status=0)
        self.rdb("record", "-q", "-o", "trace", "./prog", status=0)
        for _ in self.each_mutation(self.path("prog.rdb/descriptors")):
            self.check("inspect", "prog.rdb")
            self.check("replay", "./trace", statuses=(0, 2, 125))
            self.check("replay", "-m", "prog.rdb", "./trace", statuses=(0, 2, 125))

    @harness.needs_compiler
    def test_programs(self):
        self.write("prog.c", "int main(void) { return 0; }\n")
        for name in "old", "new":
            self.run_program([harness.program("rdb-clang"), "-g", "prog.c", "-o", name], status=0)
        for _ in self.each_mutation(self.path("new")):
            self.check("verify", "old", "new", statuses=(0, 1, 2))


if __name__ == "__main__":
    harness.main()
