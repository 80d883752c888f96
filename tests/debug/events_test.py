# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rdb replay shows what happens in a recording without any debug code: system calls, calls of functions, writes to
variables. The recordings have hashes of memory and registers, which the replay checks: looking on changes nothing."""
import re

import harness

LIST = harness.program_text(__file__, "events/list.c")

THREADS = harness.program_text(__file__, "events/threads.c")

CLASSES = harness.program_text(__file__, "events/classes.cc")


class Events(harness.TestCase):
    def record(self, name, source, *flags, compiler="/usr/bin/gcc", stdin=b""):
        self.write(name, source)
        self.run_program([compiler, "-g", *flags, "-o", "prog", name], status=0)
        self.write("input", stdin.decode())
        self.run_program(["/bin/sh", "-c", f"{harness.rdb()} record --checksum=calls -q -o trace -- ./prog <input"], status=0)

    def lines(self, *options):
        replayed = self.rdb("replay", *options, self.path("trace"))
        self.assertEqual(replayed.status, 0, f"\n{replayed}")
        self.out = replayed.out
        # Times and threads are a run's own.
        return [re.sub(r"^\[\d+ \d+\] ", "", line) for line in replayed.err.splitlines()]

    def test_calls_with_arguments_and_results(self):
        for flags in (["-O0"], ["-O1", "-fno-inline"]):
            with self.subTest(flags):
                self.run_program(["/bin/rm", "-rf", self.path("trace")])
                self.record("list.c", LIST, *flags, stdin=b"abc")
                found = [re.sub(r"0x[0-9a-f]+", "PTR", line).split("  (")[0]
                         for line in self.lines("--trace-calls", "push", "--trace-calls", "half")]
                self.assertEqual(found, ['push(value=1, name="one")', "push = PTR", 'push(value=-2, name="two")',
                                         "push = PTR", 'half(x=5, what="half")', "half = 2.5"])
                self.assertEqual(self.out, "2 2.5 2\n")

    def test_recursion_is_indented_and_returns_are_matched(self):
        self.record("list.c", LIST, "-O0", stdin=b"abc")
        found = [line.split("  (")[0] for line in self.lines("--trace-calls", "desc*")]
        self.assertEqual(found, ["descend(n=2)", "  descend(n=1)", "    descend(n=0)", "    descend = 0",
                                 "  descend = 1", "descend = 2"])

    def test_library_functions(self):
        self.record("list.c", LIST, "-O0", stdin=b"abc")
        # It has no debug information: the registers that may hold arguments are shown.
        calls = [line for line in self.lines("--trace-calls", "malloc") if line.endswith("(push at list.c:12)")]
        self.assertRegex(calls[0], r"^malloc\(0x18, 0x[0-9a-f]+, 0x[0-9a-f]+, \.\.\.\)  \(")

    def test_writes_to_variables_by_instructions_and_system_calls(self):
        self.record("list.c", LIST, "-O0", stdin=b"abc")
        self.assertEqual(self.lines("--watch", "list.c:count"),
                         ["list.c:count: 0 -> 1  (push at list.c:17)", "list.c:count: 1 -> 2  (push at list.c:17)",
                          "list.c:count: 2 -> 6513249 (0x636261) by a system call  (main at list.c:26)"])
        # A variable that other files may use too.
        self.assertRegex(self.lines("--watch", "list.c:wide")[-1], "^list.c:wide: .* -> 07 07( 07)+")
        self.assertIn("nothing in the recording is called other.c:wide",
                      self.rdb("replay", "--watch", "other.c:wide", self.path("trace")).err)

    def test_variables_of_the_same_name(self):
        self.write("other.c", "static int count = 5; int more(void) { return ++count; }")
        self.write("main.c", "static int count; int more(void); int main(void) { count = 2; return more() + count != 8; }")
        self.run_program(["/usr/bin/gcc", "-g", "-o", "prog", "main.c", "other.c"], status=0)
        self.rdb("record", "--checksum=calls", "-q", "-o", "trace", "--", "./prog", status=0)
        self.assertEqual(self.lines("--watch", "count"), ["count: 0 -> 2  (main at main.c:1)",
                                                          "rdb: of several variables called count, main.c:count is watched; "
                                                          "there is other.c:count too"])
        self.assertEqual(self.lines("--watch", "other.c:count"), ["other.c:count: 5 -> 6  (more at other.c:1)"])

    def test_wide_stores_and_addresses(self):
        self.record("list.c", LIST, "-O2", stdin=b"abc")
        wide = self.lines("--watch", "wide")
        self.assertEqual(len(wide), 1)
        self.assertRegex(wide[0], "^wide: 00 00( 00)+ -> 07 07( 07)+")

    def test_system_calls(self):
        self.record("list.c", LIST, "-O0", stdin=b"abc")
        self.assertEqual([line for line in self.lines("--trace-syscalls=write,read") if "list.c" in line],
                         [r'write(1, "2 2.5 2\n", 8) = 8  (main at list.c:25)',
                          'read(0, "abc", 3) = 3  (main at list.c:26)'])
        everything = self.lines("--trace-syscalls")
        self.assertTrue(any(line.startswith("execve(") or line.startswith("brk(") for line in everything))

    def test_threads(self):
        self.record("threads.c", THREADS, "-O0", "-pthread")
        changes = [re.search(r"(\d+)(?: \(\w+\))? -> (\d+)", line).groups() for line in self.lines("--watch", "shared")]
        self.assertEqual(changes, [("0", "1"), ("1", "2"), ("2", "3"), ("3", "13"), ("13", "23"), ("23", "33")])
        found = "\n".join(self.lines("--trace-syscalls"))
        self.assertEqual(len(re.findall(r"thread \d+ starts", found)), 2)
        self.assertEqual(len(re.findall(r"thread \d+ ends", found)), 2)

    def test_names_of_cxx(self):
        self.record("till.cc", CLASSES, "-O0", compiler="/usr/bin/g++")
        found = [re.sub(r"this=0x[0-9a-f]+", "this", line).split("  (")[0]
                 for line in self.lines("--trace-calls", "shop::Till::*")]
        self.assertEqual(found[0], "shop::Till::add(int)(this, amount=3)")
        self.assertIn("shop::Till::total() const = 7", found)
        self.assertEqual([line.split("  (")[0] for line in self.lines("--watch", "shop::till")],
                         ["shop::till: 0 -> 3", "shop::till: 3 -> 7"])

    def test_what_does_not_exist_is_said(self):
        self.record("list.c", LIST, "-O0", stdin=b"abc")
        self.assertIn("rdb: nothing in the recording is called nowhere", self.lines("--watch", "nowhere"))
        wrong = self.rdb("replay", "--trace-syscalls=wrte", self.path("trace"))
        self.assertEqual(wrong.status, 2)
        self.assertIn("no system call 'wrte'", wrong.err)


if __name__ == "__main__":
    harness.main()
