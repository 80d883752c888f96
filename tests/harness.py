# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What end-to-end tests share: finding the built programs, running them with a time limit, and printing, when a
test fails, the command that shows the failure again.

    import harness

    class RunsPrograms(harness.TestCase):
        def test_exit_status_is_the_guests(self):
            result = self.run_program([harness.rdb(), "run", harness.target("exits"), "3"])
            self.assertEqual(result.status, 3)

    if __name__ == "__main__":
        harness.main()

Every test has a directory of its own, self.tmp, which is also where its commands run, HOME and RDB_TRACE_DIR;
it is removed afterwards unless RDB_KEEP=1. tests/run runs one test by its file."""
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass

# A shell starts what is to run in the background with these ignored; the programs under test find them as usual.
for number in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)

SOURCE = os.path.realpath(os.environ.get("RDB_SOURCE") or os.path.join(os.path.dirname(__file__), ".."))
BUILD = os.path.realpath(os.environ.get("RDB_BUILD") or os.path.join(SOURCE, "build"))

# It was for this process alone (tests/run); the programs under test have the environment of their user.
os.environ.pop("PYTHONPATH", None)


# What rdb says when a replay went wrong, whatever its status is then.
WRONG_REPLAY = "internal error|differs from the recording"


def program(name):
    """A program of the build, by name: rdb, rdb-clang ..."""
    return os.path.join(BUILD, "bin", name)


def rdb():
    return program("rdb")


def target(name):
    """A guest of tests/targets, by name."""
    return os.path.join(BUILD, "targets", name)


def take_flag(name):
    """Whether the test was called with this option; unittest does not see it then."""
    given = name in sys.argv[1:]
    if given:
        sys.argv.remove(name)
    return given


def take_number(name, default):
    """The number after this option, if the test was called with it; unittest does not see them then."""
    if name not in sys.argv[1:]:
        return default
    at = sys.argv.index(name)
    number = int(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    return number


def program_text(test, name):
    """A file in programs/ beside the test: the source of a program, or the output that is expected of it (*.expected)."""
    with open(os.path.join(os.path.dirname(os.path.abspath(test)), "programs", name), encoding="utf-8") as file:
        return file.read()


# Marks the tests that are left out where rdb was built with RDB_COMPILER=OFF.
needs_compiler = unittest.skipUnless(os.path.exists(program("rdb-clang")), "built without rdb-clang")


@dataclass
class Result:
    status: int  # the exit status; minus the signal's number for a death by signal
    out: str
    err: str
    command: str  # for a shell

    def __str__(self):
        return f"status {self.status}\n--- stdout\n{_shortened(self.out)}--- stderr\n{_shortened(self.err)}---"


def _shortened(text, ends=4000):
    """Long output with its middle left out."""
    if len(text) <= 2 * ends:
        return text
    return f"{text[:ends]}\n... {len(text) - 2 * ends} more ...\n{text[-ends:]}"


def _describe(argv, cwd, env):
    """The command as a shell takes it, with the variables in which it differs from this test's own."""
    words = [f"{key}={shlex.quote(value)}" for key, value in sorted(env.items()) if os.environ.get(key) != value]
    return f"cd {shlex.quote(cwd)} && {' '.join(words)} {shlex.join(argv)}"


class TestCase(unittest.TestCase):
    maxDiff = None
    default_timeout = 120

    def setUp(self):
        self.tmp = tempfile.mkdtemp(prefix="rdb-test-")
        self._commands = []
        if os.environ.get("RDB_KEEP") == "1":
            print(f"{self.id()}: keeping {self.tmp}", file=sys.stderr)
        else:
            self.addCleanup(shutil.rmtree, self.tmp, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.tmp, name)

    def write(self, name, text):
        """Makes a file in the test's directory; returns its path."""
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def environment(self, extra=None):
        env = {key: value for key, value in os.environ.items() if not key.startswith(("RDB_", "LC_", "XDG_"))}
        env.update(LC_ALL="C.UTF-8", HOME=self.tmp, RDB_TRACE_DIR=self.path("traces"))
        env.update(extra or {})
        return env

    def run_program(self, argv, *, env=None, stdin="", cwd=None, timeout=None, status=None, text=True):
        """Runs argv to its end. `env` adds variables; `status`, if given, is the exit status it must have.
        With text=False, stdin and the result's out and err are bytes."""
        argv, cwd, full_env = [str(arg) for arg in argv], cwd or self.tmp, self.environment(env)
        command = _describe(argv, cwd, full_env)
        self._commands.append(command)
        if isinstance(stdin, str):
            stdin = stdin.encode()
        # A session of its own, so that a program that hangs goes with all its children.
        child = subprocess.Popen(argv, cwd=cwd, env=full_env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = child.communicate(stdin, timeout=timeout or self.default_timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            self.fail(f"still running after {timeout or self.default_timeout} s\n--- stdout\n"
                      f"{out.decode(errors='replace')}--- stderr\n{err.decode(errors='replace')}---")
        if text:
            out, err = out.decode(errors="replace"), err.decode(errors="replace")
        result = Result(child.returncode, out, err, command)
        if status is not None:
            self.assertEqual(result.status, status, f"\n{result}")
        return result

    def rdb(self, *args, **how):
        return self.run_program([rdb(), *args], **how)

    def processes(self, trace):
        """Names and endings of the recorded processes, as rdb ps tells them."""
        table = self.rdb("ps", trace, status=0).out.splitlines()[1:]
        return [(row.split()[0], re.split(r" {2,}", row)[3]) for row in table]

    def replay_processes(self, trace, *options):
        """Replays each process of a recording; checks that it ends as it did, and returns names and results."""
        results = []
        for name, ending in self.processes(trace):
            result = self.rdb("replay", *options, "-p", name, trace)
            if ending.startswith("SIG"):
                status = -getattr(signal, ending)
            else:
                status = int(ending[5:]) if ending.startswith("exit ") else 0  # it goes on as another program, or is cut off
            self.assertEqual(result.status, status, f"{name}: {ending}\n{result}")
            self.assertNotRegex(result.err, WRONG_REPLAY, f"\n{result}")
            if ending != "cut off":
                self.assertNotIn("the recording ends", result.err, f"\n{result}")
            results.append((name, result))
        return results

    # Every assertion of unittest ends in one of these two.
    def fail(self, msg=None):
        raise self.failureException(self._with_commands(msg))

    def _formatMessage(self, msg, standardMsg):
        return self._with_commands(super()._formatMessage(msg, standardMsg))

    def _with_commands(self, message):
        if not self._commands or "\nto reproduce" in str(message):
            return message
        keep = "" if os.environ.get("RDB_KEEP") == "1" else " (RDB_KEEP=1 keeps the test's files)"
        return f"{message}\nto reproduce{keep}:\n  " + "\n  ".join(self._commands)


def main():
    unittest.main(verbosity=2)
