# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rdb gdb on real recordings: a real gdb, forwards and backwards."""
import re

from remote import RecordingTestCase, ServedTestCase, harness


class Commands(RecordingTestCase):
    def test_forwards_and_backwards(self):
        out = self.answers("when", "break add", "continue", "bt", "next", "finish", "reverse-continue",
                           "tbreak factorial if n == 1", "delete 1", "continue", "reverse-finish", "reverse-step",
                           "info sharedlibrary", "continue", "reverse-stepi", "stepi")
        self.assertIn("At 0, thread", out[0])
        self.assertIn("Breakpoint 1, add (a=0, b=0)", out[2])
        self.assertIn("#1 ", out[3])
        self.assertIn("return a + b;", out[4])
        self.assertIn("Value returned is $1 = 0", out[5])
        self.assertIn("Breakpoint 1, add (a=0, b=0)", out[6])
        self.assertIn("factorial (n=1)", out[9])
        self.assertIn("factorial(n - 1)", out[10])
        self.assertIn("libc.so", out[12])
        self.assertIn("the program exited with status 7", out[13])

    def test_watchpoints(self):
        out = self.answers("tbreak main", "continue", "watch counter", "continue", "continue", "reverse-continue",
                           "reverse-continue", "delete", "rwatch scale", "continue", "delete", "goto end",
                           "watch origin.x", "reverse-continue", timeout=300)
        self.assert_in_order(out[3], "Old value = 0", "New value = 1")
        self.assert_in_order(out[4], "Old value = 1", "New value = 3")
        self.assert_in_order(out[5], "Old value = 3", "New value = 1")
        self.assert_in_order(out[6], "Old value = 1", "New value = 0")
        self.assertIn("Value = 1.5", out[9])
        self.assert_in_order(out[13], "Old value = 34", "New value = 3", "last")

    def test_functions_that_gdb_calls(self):
        out = self.answers("break factorial if n == 2", "continue", 'print (int)puts("called")', "print (int)getpid() > 1",
                           'print (int)system("true")', "bt 1", "print *(int*)0 = 1", "call (void)abort()", "bt 1",
                           "delete", "print factorial(6)", "print add(5, 5)", "print counter", "finish", "print counter",
                           "print n", "when")
        self.assertTrue(out[2].startswith("called\n"), out[2])
        self.assertIn("= 1", out[3])
        self.assertIn("rdb: a function called from gdb cannot make this system call: clone3(", out[4])
        self.assertIn("#0  factorial (n=2)", out[5])
        self.assertIn("Cannot access memory", out[6])
        self.assertIn("rdb: a function called from gdb cannot make this system call: tgkill(", out[7])
        self.assertIn("#0  factorial (n=2)", out[8])
        self.assertIn("= 720", out[10])
        self.assertIn("= 10", out[11])
        self.assertIn("= 15", out[12])
        self.assertIn("Value returned is", out[13])
        self.assertIn("= 10", out[14])
        self.assertIn("= 3", out[15])

    def test_beginning_again(self):
        out = self.answers("break factorial", "run", "start", "starti", "when", "run 1 2", "run", "delete", "run", "run")
        self.assertIn("Breakpoint 1, factorial (n=4)", out[1])
        self.assertIn("main (argc=1", out[2])
        self.assertIn("_start ()", out[3])
        self.assertIn("At 0,", out[4])
        self.assertIn("has the arguments that it was recorded with", out[5])
        self.assertIn("Breakpoint 1, factorial (n=4)", out[6])
        self.assertIn("exited with status 7", out[8])
        self.assertIn("exited with status 7", out[9])

    def test_other_kinds_of_points(self):
        out = self.answers("hbreak add if a == 2", "continue", "until", "advance steps.c:37", "tbreak add",
                           "continue", "awatch origin.x", "continue", "continue", "reverse-continue",
                           "reverse-continue", "delete", "catch signal", "break vectors", "continue", "stepi 3",
                           "info registers ymm0", "info all-registers ymm15", timeout=300)
        self.assertIn("add (a=2, b=1)", out[1])
        self.assertIn("return a + b", out[2])
        self.assertIn("main (argc=1", out[3])  # the function returned first
        self.assertIn("Temporary breakpoint 2, add (a=3, b=3)", out[5])
        self.assert_in_order(out[7], "Old value = 3", "New value = 34")
        self.assertIn("No more reverse-execution history", out[8])
        self.assert_in_order(out[9], "Old value = 34", "New value = 3")
        self.assertIn("v4_double = {", out[16])
        self.assertIn("v4_double = {", out[17])

    def test_a_step_over_a_system_call_ends_behind_it(self):
        out = self.answers("catch syscall write", "continue", "continue", "delete", "reverse-stepi", "x/i $pc", "stepi",
                           "print $rax", "when", "reverse-stepi", "print (int)$rax")
        self.assertIn("syscall", out[5])
        self.assertIn("= 4", out[7])
        self.assertRegex(out[8], r"At \d+, ")
        self.assertIn("= 1", out[10])

    def test_positions(self):
        out = self.answers("tbreak factorial", "continue", "bookmark deep", "checkpoint here", "goto start", "when",
                           "restart 1", "info checkpoints", "goto 50%", "goto deep", "delete checkpoint 1",
                           "info checkpoints", "goto nowhere", "when-end", "goto end", "bt", "reverse-stepi")
        self.assertIn("Bookmark deep", out[2])
        self.assertIn("_start", out[4])
        self.assertIn("At 0,", out[5])
        self.assertIn("factorial", out[6])
        self.assertIn("here", out[7])
        self.assertIn("factorial", out[9])
        self.assertIn("No checkpoints", out[11])
        self.assertIn("'nowhere' is no position", out[12])
        self.assertIn("exited with status 7", out[13])
        self.assertIn("exit", out[15])

    def test_state(self):
        out = self.answers("break vectors", "continue", "next 2", "p $ymm0.v4_double", "info threads",
                           "info proc mappings", "p/x $mxcsr", "x/s name", "print factorial(5)",
                           "print add(100, 1)", "print counter", "print counter = 3", "next", "print counter")
        self.assertIn("= {3, 4, 6, 8}", out[3])
        self.assertIn('"steps"', out[4])
        self.assertIn("r-xp", out[5])
        self.assertRegex(out[5], r" 0x0  rw-p   \[stack\]")
        self.assertIn("0x1f", out[6])
        self.assertIn('"rdb"', out[7])
        self.assertIn("= 120", out[8])
        self.assertIn("= 101", out[9])
        self.assertIn("a recorded run cannot be changed", out[11])
        self.assertIn("= 10", out[13])

    def test_system_calls_and_output(self):
        out = self.answers("catch syscall write", "continue", "continue", "reverse-continue", "delete", "continue",
                           "goto start", "continue", "info registers orig_rax")
        self.assertIn("call to syscall write", out[1])
        self.assertIn("returned from syscall write", out[2])
        self.assertTrue(out[2].startswith("out\n"), out[2])
        self.assertNotIn("out\n", out[7])

    def test_beginning_elsewhere(self):
        out = self.answers("when", "bt", options=("--at", "end"))
        self.assertIn("exit", out[1])
        end = int(re.search(r"At (\d+)", out[0])[1])
        self.assertIn(f"At {end // 2},", self.answers("when", options=("--at", "50%"))[0])
        self.assertIn("At 1234,", self.answers("when", options=("--at", "1234"))[0])
        result = self.rdb("gdb", "--at", "later")
        self.assertEqual(result.status, 2)
        self.assertIn("'later' is no position", result.err)


class Crash(RecordingTestCase):
    target = "gdb/signals"
    status = -11

    def test_the_end_can_be_looked_at(self):
        out = self.answers("continue", "continue", "print $_siginfo.si_signo", "print nowhere", "bt", "continue",
                           "reverse-continue", "reverse-continue")
        self.assertIn("SIGUSR1", out[0])
        self.assertIn("SIGSEGV", out[1])
        self.assertIn("= 11", out[2])
        self.assertIn("0x0", out[3])
        self.assertIn("crash", out[1] + out[4])
        self.assertIn("signal 11 ended the program", out[5])
        self.assertIn("SIGUSR1", out[6] + out[7])


class Questions(RecordingTestCase):
    def lines(self, *words):
        result = self.rdb(*words)
        self.assertEqual(result.status, 0, result)
        self.assertEqual(result.err, "", result)
        return result.out.splitlines()

    def test_history(self):
        lines = self.lines("history", "counter", "--at", "steps.c:22")
        self.assertEqual([line.split()[-1] for line in lines], ["0", "0", "1", "3", "6"])
        for line in lines:
            self.assertRegex(line, r"^ *\d+  thread \d+  add \(steps.c:22\)  \d+$")
        lines = self.lines("history", "counter", "--at", "steps.c:22", "--changes")
        self.assertEqual([line.split()[-1] for line in lines], ["0", "1", "3", "6"])
        lines = self.lines("history", "n * 2 + 1", "--at", "factorial")
        self.assertEqual([line.split()[-1] for line in lines], ["9", "7", "5", "3"])
        lines = self.lines("history", "origin", "--at", "vectors")
        self.assertTrue(lines[0].endswith("{x = 3, y = 4}"), lines)
        lines = self.lines("history", "*(int*)0", "--at", "vectors")
        self.assertTrue(lines[0].endswith("<Cannot access memory at address 0x0>"), lines)
        for expression, message in (("nothing", 'No symbol "nothing" in current context.'),
                                    ("n +", "A syntax error in expression, near `'.")):
            result = self.rdb("history", expression, "--at", "factorial")
            self.assertEqual((result.status, result.out, result.err), (2, "", f"rdb: {message}\n"))
        for place in ("steps.c:9999", "exit_never"):
            result = self.rdb("history", "counter", "--at", place)
            self.assertEqual(result.status, 2, result)
            self.assertRegex(result.err, f"^rdb: there is no {place} in the program")

    def test_last_write(self):
        lines = self.lines("last-write", "counter")
        self.assertRegex(lines[0], r"^\d+  thread \d+  add \(steps.c:22\)  counter: 6 -> 10$")
        self.assertRegex(lines[1], r"^#0  add \(steps.c:22\)  a=4, b=6$")
        self.assertRegex(lines[2], r"^#1  main \(steps.c:\d+\)  argc=1, argv=0x\w+$")
        time = lines[0].split()[0]
        lines = self.lines("last-write", "counter", "--at", time)
        self.assertIn("counter: 3 -> 6", lines[0])
        # In the scope of a line; what the caller's loop has put there.
        lines = self.lines("last-write", "below", "--at", "steps.c:18")
        self.assertRegex(lines[0], r"factorial \(steps.c:17\)  below: -?\d+ -> 6$")
        result = self.rdb("last-write", "scale", "--at", time)
        self.assertEqual(result.status, 2, result)
        self.assertRegex(result.err, r"^rdb: nothing wrote to the 8 bytes at 0x\w+ before this position\n$")
        lines = self.lines("last-write", "&counter", "--at", time)
        self.assertIn("&counter: 3 -> 6", lines[0])
        for expression in ("3 + 4 == 7 ? 1.5 : 2.5", "$rax", "counter + 1"):
            result = self.rdb("last-write", expression)
            self.assertEqual(result.status, 2, result)
            self.assertEqual(result.err, f"rdb: {expression} is not in memory here: give something that has an address\n")
        for expression, message in (("nothing", "No symbol"), ("counter +", "syntax error")):
            result = self.rdb("last-write", expression)
            self.assertEqual((result.status, result.out), (2, ""), result)
            self.assertRegex(result.err, f"^rdb: .*{message}.*\n$")

    def test_going_to_a_write_in_gdb(self):
        out = self.answers("goto end", "last-write counter", "print counter", "stepi", "print counter",
                           "last-write counter", "last-write counter", "print counter")
        self.assertIn("add (a=4, b=6)", out[1])
        self.assertIn("= 6", out[2])
        self.assertIn("= 10", out[4])
        self.assertIn("add (a=4, b=6)", out[5])
        self.assertIn("add (a=3, b=3)", out[6])
        self.assertIn("= 3", out[7])


class QuestionsAboutOptimisedCode(RecordingTestCase):
    target = "gdb/steps_o2"

    def test_values_that_are_not_there(self):
        result = self.rdb("history", "a", "--at", "add", status=0)
        self.assertEqual([line.split()[-1] for line in result.out.splitlines()], ["0", "1", "2", "3", "4"], result)
        # An argument in a register has no address that could have been written to.
        result = self.rdb("last-write", "a", "--at", "steps.c:22")
        self.assertEqual(result.status, 2, result)
        self.assertRegex(result.err, "^rdb: a is (not in memory|optimised out) here.*\n$")


class Threads(RecordingTestCase):
    target = "gdb/threads"
    status = 40

    def test_threads(self):
        out = self.answers("break work", "continue", "info threads", "continue", "thread apply all bt 1", "delete",
                           "watch counts[1]", "continue", "reverse-continue", "delete", "break 20", "continue",
                           "info threads", "print counts", "delete", "reverse-stepi", "stepi", "reverse-continue",
                           "info threads")
        self.assertIn("work (which=", out[1])
        self.assertIn("* 2 ", out[2])
        self.assertIn("Thread 1 ", out[4])
        self.assertIn("work (which=", out[4])
        self.assert_in_order(out[7], "Old value = 0", "New value = 1")
        self.assert_in_order(out[8], "Old value = 1", "New value = 0")
        self.assertIn("main () at", out[11])
        self.assertEqual(out[12].count("Thread "), 1)
        self.assertIn("{20, 20}", out[13])
        self.assertIn("No more reverse-execution history", out[17])
        self.assertEqual(out[18].count("Thread "), 1)

    def test_jumps_to_where_the_thread_is_not(self):
        out = self.answers("break work", "continue", "info threads", "goto start", "info threads", "goto end",
                           "info threads", "reverse-continue", "last-write counts[0]", "info threads", "goto start",
                           "last-write counts[0]", "when", "continue", "bt 1")
        self.assertNotIn("SIGTRAP", "".join(out))
        self.assertIn("in _start ()", out[3])
        self.assertIn("_start ()", out[4])
        self.assertEqual(out[4].count("Thread "), 1)
        self.assertIn("exit (status=", out[6])
        self.assertEqual(out[6].count("Thread "), 1)
        self.assertIn("work (which=", out[7])
        self.assertIn("rdb: nothing wrote to the 8 bytes", out[8] + out[11])
        self.assertIn("At 0,", out[12])
        self.assertIn("hit Breakpoint 1, work (which=", out[13])

    def test_variables_of_threads(self):
        out = self.answers("break threads.c:10 if count == &counts[1]", "continue", "print mine", "print *mine",
                           "print errno", "thread apply all print mine", "next", "next", "print *mine", "watch *mine",
                           "continue", "delete", "goto start", "print mine", "goto end", "print mine")
        self.assertIn("<counts+8>", out[2])
        self.assertIn("= 0", out[3])
        self.assertIn("= 0", out[4])
        self.assertIn("<counts+8>", out[5])
        self.assertIn("(long *) 0x0", out[5])
        self.assertIn("= 1", out[8])
        self.assert_in_order(out[10], "Old value = 1", "New value = 2")
        self.assertIn("Cannot ", out[13])
        self.assertIn("(long *) 0x0", out[15])

    def test_a_thread_is_stepped_as_it_was_recorded(self):
        out = self.answers("break work if which == &counts[1]", "continue", "next", "next", "next", "print counts[1]",
                           "reverse-next", "reverse-next", "print counts[1]", "info threads", "delete",
                           "finish", "print counts[1]")
        self.assertIn("work (which=", out[1])
        self.assertIn("*count += 1", out[3])
        self.assertIn("= 1", out[5])
        self.assertIn("= 0", out[8])

    def test_history_names_the_thread(self):
        result = self.rdb("history", "*count", "--at", "threads.c:10")
        found = {}
        for line in result.out.splitlines():
            words = line.split()
            found.setdefault(words[2], []).append(int(words[-1]))
        self.assertEqual(list(found.values()), [list(range(20))] * 2, result)


REGION_PROGRAM = harness.program_text(__file__, "recording/region.c")


@harness.needs_compiler
class Regions(RecordingTestCase):
    def setUp(self):
        ServedTestCase.setUp(self)
        with open(self.path("region.c"), "w", encoding="utf-8") as file:
            file.write(REGION_PROGRAM)
        self.run_program([harness.program("rdb-clang"), "-g", "-O0", "-o", "region", "region.c"], status=0)
        self.rdb("record", "./region", status=0)

    def test_regions_run_once_in_their_place(self):
        out = self.answers("break main", "continue", "watch total if total == 3", "continue", "reverse-continue",
                           "delete", "continue", "reverse-continue", "continue")
        self.assertIn("before 2: 1\n", out[3])
        self.assertNotIn("before", out[4])
        self.assert_in_order(out[6], "before 3: 3\n", "before 4: 6\n", "end\n")
        self.assertNotIn("before 2", out[6])
        self.assertNotIn("before", out[7] + out[8])

    def test_gdb_shows_the_sources_without_regions(self):
        out = self.answers("list main,+8", options=("-m", "region.rdb"))
        self.assertIn("total += i; // add", out[0])
        self.assertNotIn("rdb_begin", out[0])
        self.assertNotIn("printf", out[0])

    def test_without_the_bundle(self):
        out = self.answers("continue", "list main,+8", options=("--no-module",))
        self.assertNotIn("before", out[0])
        self.assertIn("rdb_begin", out[1])


if __name__ == "__main__":
    harness.main()
