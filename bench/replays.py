# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the benchmarks of debug code share: building a program of bench/programs, recording it, and the CPU time of replays
that take turns."""
import os
import resource
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))


def cpu_time(argv, environment=None):
    """User and system time of a command and its children, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(argv)}: status {done.returncode}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best(ways, rounds):
    """{name: best CPU time} of {name: (argv, environment)}, all ways in turns."""
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (argv, environment) in ways.items():
            times[name].append(cpu_time(argv, environment))
    return {name: min(found) for name, found in times.items()}


class Bench:
    def __init__(self, build, folder):
        self.bin = os.path.join(build, "bin")
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, source, name, *flags, plain=False):
        compiler = "/usr/bin/clang-22" if plain else os.path.join(self.bin, "rdb-clang")
        subprocess.run([compiler, "-g", *flags, os.path.join(HERE, "programs", source), "-o", self.path(name)], check=True)
        return self.path(name)

    def record(self, trace, *argv):
        subprocess.run([os.path.join(self.bin, "rdb"), "record", "-q", "-o", self.path(trace), "--", *argv], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self.path(trace)

    def replay(self, trace, *options):
        return [os.path.join(self.bin, "rdb"), "replay", "-q", *options, trace]


def show(rows):
    """Rows of (what, figure, must)."""
    for what, figure, must in rows:
        print(f"| {what:<58} | {figure:>10} | {must:>10} |")
