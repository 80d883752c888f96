# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug code asks to be called when something happens in the replay: <rdb/events.h>. The recordings have hashes of
memory and registers, which every replay checks."""

import harness

LIST = harness.program_text(__file__, "events_api/list.c")

TILL = harness.program_text(__file__, "events_api/till.cc")


# Which strlen() and memcpy() it is, libc chooses when a program is linked to them: at its start or at the first call.
CHOSEN = harness.program_text(__file__, "events_api/chosen.c")

# Two coroutines and the main program, each in the same function, called from the same place, on a stack of its own.
COROUTINES = harness.program_text(__file__, "events_api/coroutines.c")


class EventApi(harness.TestCase):
    def replay(self, name, source, status, *flags):
        self.write(name, source)
        compiler = harness.program("rdb-clang++" if name.endswith(".cc") else "rdb-clang")
        self.run_program([compiler, "-g", *flags, "-o", "prog", name], status=0)
        self.run_program(["/bin/rm", "-rf", self.path("trace")])
        self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog", status=status)
        replayed = self.rdb("replay", self.path("trace"))
        self.assertEqual(replayed.status, status, f"\n{replayed}")
        return replayed

    def test_heap_system_calls_and_functions(self):
        replayed = self.replay("list.c", LIST, 2, "-O0")
        line = 1 + LIST[:LIST.index("list->next = (struct node *)8")].count("\n")  # of the file with its regions
        self.assertEqual(replayed.out.splitlines(), [
            "add Bartholomew", "next written by ?? at libc.so.6, was 0", "add returns",
            f"next written by main at list.c:{line}, was 1", "removed 0, again -1", "x",
            "write of 2 bytes, x, with 1 in the list, data of mine", "add Cleo", "add returns"])
        self.assertIn("there is no system call 'wrte'", replayed.err)
        self.assertIn("are not the program's memory", replayed.err)
        self.assertIn("crashed with signal 11", replayed.err)

    def test_functions_that_libc_chooses(self):
        for flags in (["-DFIRST=1"], ["-DFIRST=0"], ["-DFIRST=0", "-Wl,-z,now"]):
            replayed = self.replay("chosen.c", CHOSEN, 15, "-O0", "-fno-builtin", *flags)
            self.assertEqual(replayed.out, "strlen = 9\nmemcpy 5\n", replayed)

    def test_functions_on_several_stacks(self):
        for callback in ("on_step", "on_quick"):
            with self.subTest(callback):
                replayed = self.replay("coroutines.c", COROUTINES, 20, "-O0", f"-DCALLBACK={callback}")
                self.assertEqual(replayed.out.splitlines(), [f"returned {who}" for who in (1, 1, 2, 2, 0, 0)], replayed)

    def test_lambdas(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                source = TILL.replace("void add", "__attribute__((noinline)) void add")
                replayed = self.replay("till.cc", source, 7, level)
                self.assertEqual(replayed.out.splitlines(), ["add 3", "total 3, change 1", "add 4", "total 7, change 2",
                                                             "exit 7"])


if __name__ == "__main__":
    harness.main()
