# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What bench/run measures: the rows (programs with their inputs) and the modes (ways to run them), as tables."""
import os
import random
import shutil
from dataclasses import dataclass, field, replace

PROGRAMS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "programs")


@dataclass
class Row:
    name: str
    argv: list  # {data} is the directory of generated inputs
    repeat: int = 1  # how often one measurement runs it; start-up rows are too short for one
    stdin: str = None  # a file
    must: str = ""  # ratios to native CPU time that must be reached, and that are aimed for
    aim: str = ""
    sanitized: bool = False  # of bench/sanitized.py
    startup: bool = False  # reported as extra milliseconds, too


ROWS = [
    Row("bzip2 -9", ["/usr/bin/bzip2", "-9", "-c", "{data}/text"], must="run 1.2, record 1.3",
        aim="run 1.0, record 1.1"),
    Row("python3 nbody", ["/usr/bin/python3", f"{PROGRAMS}/nbody.py", "150000"], must="run 2.0, record 2.1",
        aim="run 1.4, record 1.5"),
    Row("sqlite3 in memory", ["/usr/bin/sqlite3", ":memory:"], stdin=f"{PROGRAMS}/work.sql", must="run 2.1, record 2.2",
        aim="run 1.6, record 1.7"),
    Row("dd bs=16", ["/usr/bin/dd", "if={data}/text", "of=/dev/null", "bs=16", "count=500000", "status=none"],
        must="run 1.4, record 1.8, replay 0.5", aim="run 1.1, record 1.4, replay 0.3"),
    # Every write is output that others see: what it costs that a kill loses none of it.
    Row("dd bs=16 to a file", ["/usr/bin/dd", "if={data}/text", "of={data}/copy", "bs=16", "count=300000", "status=none"],
        must="record 1.8"),
    Row("sort", ["/usr/bin/sort", "--parallel=1", "-S", "200M", "{data}/lines"], must="run 1.9", aim="run 1.4"),
    # Threads take turns: the wall time of these is that of one CPU.
    Row("pigz -p 2", ["/usr/bin/pigz", "-p", "2", "-9", "-c", "{data}/text", "{data}/lines"], must=1.3),
    Row("sort --parallel=2", ["/usr/bin/sort", "--parallel=2", "-S", "200M", "{data}/lines"], must=1.3),
    # Built with sanitizers: the ratio is to their own native time.
    Row("bzip2 with ASan", ["{data}/bzip2-asan", "-9", "-c", "{data}/sample"], must="record 1.5", sanitized=True),
    Row("parallel bzip2 with TSan", ["{data}/parallel_bzip2-tsan", "2", "{data}/sample"], must="record 1.5", sanitized=True),
    Row("true", ["/usr/bin/true"], repeat=20, aim="run +15 ms", startup=True),
    Row("python3 -c pass", ["/usr/bin/python3", "-c", "pass"], repeat=5, aim="run 4.0", startup=True),
]

# Rows that say where time goes but have no figure to reach.
MORE_ROWS = [
    Row("xz -2", ["/usr/bin/xz", "-2", "-T1", "-c", "{data}/sample"]),
    Row("perl words", ["/usr/bin/perl", "-ne", r'$c{lc $1}++ while /([a-z]+)/gi; END { print scalar(keys %c), "\n" }',
                       "{data}/text"]),
    Row("gawk sums" if os.path.exists("/usr/bin/gawk") else "awk sums",
        ["/usr/bin/gawk" if os.path.exists("/usr/bin/gawk") else "/usr/bin/awk",
         '{ n[length($0)] += $1 } END { for (i = 0; i < 40; i++) print i, n[i] + 0 }', "{data}/lines"]),
    Row("ls", ["/usr/bin/ls", "-l", "/usr/bin"], repeat=3, startup=True),
]


def make_inputs(directory):
    """Text and lines that are the same on every machine: made from a fixed seed."""
    generator = random.Random(20240607)
    words = ["".join(generator.choice("etaoinshrdlucmfwypvbgkjqxz") for _ in range(generator.randrange(2, 11)))
             for _ in range(3000)]
    with open(os.path.join(directory, "text"), "w", encoding="ascii") as file:
        for _ in range(90000):
            file.write(" ".join(words[int(generator.random() ** 2 * 3000)] for _ in range(14)) + "\n")
    with open(os.path.join(directory, "lines"), "w", encoding="ascii") as file:
        for _ in range(900000):
            file.write(f"{generator.getrandbits(40)} {words[int(generator.random() * 3000)]}\n")
    with open(os.path.join(directory, "lines"), "rb") as lines, open(os.path.join(directory, "sample"), "wb") as file:
        file.write(lines.read(3_000_000))


@dataclass
class Mode:
    name: str
    command: callable  # (argv, Context) -> argv
    available: callable  # Context -> reason why not, or ""
    prepare: callable = None  # (argv, Context) -> argv to run, unmeasured, before each measurement
    slow: bool = False  # too slow for rounds: measured once, with a time limit
    environment: dict = field(default_factory=dict)
    finished: str = ""  # for a mode that mixes words of its own into the output: what it says after a complete run


@dataclass
class Context:
    rdb: str
    trace: str  # where the recording of this row goes
    commands: set = field(default_factory=set)  # the commands this rdb has


def _needs(command):
    return lambda context: "" if command in context.commands else f"this rdb has no '{command}'"


def _installed(path):
    return lambda context: "" if shutil.which(path) else f"{path} is not installed"


def _record(argv, context):
    return [context.rdb, "record", "-o", context.trace, "--", *argv]


NATIVE = Mode("native", lambda argv, context: argv, lambda context: "")
MODES = {
    "run": Mode("rdb run", lambda argv, context: [context.rdb, "run", "--", *argv], _needs("run")),
    "record": Mode("rdb record", _record, _needs("record")),
    "replay": Mode("rdb replay", lambda argv, context: [context.rdb, "replay", context.trace], _needs("replay"),
                   prepare=_record),
}
OTHER = "the other "  # begins the names of modes of another rdb


def of_other(mode, rdb):
    """The same mode with another rdb."""
    def with_rdb(make):
        return make and (lambda argv, context: make(argv, replace(context, rdb=rdb)))
    return replace(mode, name=OTHER + mode.name, command=with_rdb(mode.command), prepare=with_rdb(mode.prepare))


PEERS = {
    "valgrind": Mode("valgrind --tool=none", lambda argv, context: ["valgrind", "-q", "--tool=none", *argv],
                     _installed("valgrind"), slow=True),
    "qemu": Mode("qemu-x86_64", lambda argv, context: ["qemu-x86_64", *argv], _installed("qemu-x86_64"), slow=True),
    "gdb": Mode("gdb record",
                lambda argv, context: ["gdb", "-q", "-nx", "-batch", "-ex", "set confirm off", "-ex",
                                       "set startup-with-shell off", "-ex", "set record full insn-number-max unlimited",
                                       "-ex", "starti", "-ex", "record full", "-ex", "continue", "--args", *argv],
                _installed("gdb"), slow=True, finished="exit_group|exited normally",
                # What gdb cannot record is kept from the C library, as far as the library lets itself be told.
                environment={"GLIBC_TUNABLES": "glibc.pthread.rseq=0:"
                                               "glibc.cpu.hwcaps=-AVX2,-AVX,-XSAVEC,-XSAVE,-ERMS,-FSRM"}),
}
