# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The harness itself: a failing test says how to reproduce it, a hanging program is ended with its children."""
import ast
import glob
import os
import time
import unittest

import harness


class Example(harness.TestCase):
    """Cases that fail on purpose; run by the tests below, not by unittest itself."""

    def wrong_status(self):
        self.run_program(["/bin/sh", "-c", "echo printed; exit 3"], env={"COLOUR": "dark blue"}, status=0)

    def wrong_output(self):
        self.assertIn("spam", self.run_program(["/bin/echo", "eggs"]).out)

    def hangs(self):
        self.run_program(["/bin/sh", "-c", "echo $$; sleep 1000 & wait"], timeout=0.5)


def failure_of(name):
    result = unittest.TestResult()
    Example(name).run(result)
    problems = result.failures + result.errors
    return problems[0][1] if problems else ""


def alive_in_group(group):
    """The processes of a group; those that are dead and only wait for their parent do not count."""
    alive = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                state, _, its_group = file.read().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state not in "ZX":
            alive.append(int(pid))
    return alive


class Harness(harness.TestCase):
    def test_a_wrong_status_shows_output_and_the_command(self):
        text = failure_of("wrong_status")
        self.assertIn("printed", text)
        self.assertRegex(text, r"to reproduce.*:\n  cd .* COLOUR='dark blue' .*/bin/sh -c 'echo printed; exit 3'")

    def test_a_failed_assertion_shows_the_command(self):
        self.assertRegex(failure_of("wrong_output"), r"to reproduce.*:\n  cd .* /bin/echo eggs")

    def test_a_hanging_program_is_ended_with_its_children(self):
        text = failure_of("hangs")
        self.assertIn("still running after 0.5 s", text)
        group = int(text.split("--- stdout\n")[1].split()[0])
        deadline = time.monotonic() + 30
        while alive_in_group(group) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(alive_in_group(group), [])

    def test_output_can_be_bytes(self):
        self.assertEqual(self.run_program(["/bin/cat"], stdin=b"\xff\0", text=False, status=0).out, b"\xff\0")

    def test_traces_and_home_are_the_tests_own(self):
        out = self.run_program(["/bin/sh", "-c", "echo $HOME $RDB_TRACE_DIR; pwd"], status=0).out
        self.assertEqual(out, f"{self.tmp} {self.tmp}/traces\n{self.tmp}\n")


class Modules(unittest.TestCase):
    """tests/run puts several folders on one path: a name must mean one module, and a test is nobody's module."""

    def test_each_is_found_in_one_way(self):
        files = glob.glob(os.path.join(harness.SOURCE, "tests", "**", "*.py"), recursive=True)
        shared = [os.path.basename(file) for file in files if not file.endswith("_test.py")]
        self.assertGreater(len(shared), 10)
        self.assertEqual(sorted(shared), sorted(set(shared)))
        for file in files:
            with open(file, encoding="utf-8") as source:
                tree = ast.parse(source.read(), file)
            for node in ast.walk(tree):
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    self.assertNotRegex(ast.unparse(node), r"_test\b", file)
                if isinstance(node, ast.Attribute):
                    self.assertNotEqual(ast.unparse(node), "sys.path", file)


if __name__ == "__main__":
    harness.main()
