# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug code that changes the program's objects, itself or by what it calls: the region sees the change, and it is undone
when the region ends. Every recording has hashes of memory and registers, which the replay checks."""

import each_region
import harness

# One region each, with what it prints in the first turn, of three.
CXX_CHANGES = each_region.changes(__file__, "undone_writes/changes.cc")

CXX_PROGRAM = harness.program_text(__file__, "undone_writes/program.cc")

C_PROGRAM = harness.program_text(__file__, "undone_writes/program.c")

# Memory with code that was translated.
CODE = harness.program_text(__file__, "undone_writes/code.c")

# Debug code that changes memory of the program until it is given up: by then it must be undone.
GIVEN_UP = harness.program_text(__file__, "undone_writes/given_up.c")


@harness.needs_compiler
class UndoneWrites(harness.TestCase):
    def replay(self, name, source, *flags, options=()):
        self.write(name, source)
        compiler = harness.program("rdb-clang++" if name.endswith(".cc") else "rdb-clang")
        self.run_program([compiler, "-g", "-w", *flags, "-o", "prog", name], status=0)
        self.run_program(["/bin/rm", "-rf", self.path("trace")])
        recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog", status=0)
        return recorded, self.rdb("replay", *options, self.path("trace"), status=0)

    def test_objects_of_cxx(self):
        barrier = '__asm__ volatile("" : : "r"(state), "r"(i) : "memory");'
        regions = "".join(f'__attribute__((noinline)) void region{k}(State *state, int i) '
                          f'{{\n  {barrier}\n  rdb_begin\n'
                          f'    OBJECTS std::printf("{k}.%d ", i); {{ {code} }} std::printf("\\n");\n  rdb_end\n  {barrier}\n}}\n'
                          for k, (code, _) in enumerate(CXX_CHANGES))
        calls = " ".join(f"region{k}(state, i);" for k in range(len(CXX_CHANGES)))
        # Of a static function, optimised code may have something else.
        for level, static in (("-O0", "static"), ("-O1", ""), ("-O2", "")):
            with self.subTest(level):
                recorded, replayed = self.replay("changes.cc", CXX_PROGRAM.replace("REGIONS", regions).replace("CALLS", calls),
                                                 level, "-std=c++20", f"-DSTATIC={static}")
                lines = replayed.out.splitlines()
                self.assertEqual(lines[-1] + "\n", recorded.out, f"\n{replayed}")
                self.assertEqual(lines[:len(CXX_CHANGES)], [f"{k}.0 {shown}" for k, (_, shown) in enumerate(CXX_CHANGES)],
                                 replayed.err)
                self.assertEqual(len(lines), 3 * len(CXX_CHANGES) + 1, f"\n{replayed}")
                self.assertNotIn("not run any more", replayed.err)

    def test_memory_of_c(self):
        for level in ("-O0", "-O1", "-O2"):
            for options in ((), ("--protect=undo",)):
                with self.subTest(level, options=options):
                    recorded, replayed = self.replay("memory.c", C_PROGRAM, level, options=options)
                    lines = replayed.out.splitlines()
                    self.assertEqual(lines[-1] + "\n", recorded.out, f"\n{replayed}")
                    if level == "-O0":
                        self.assertEqual(lines[:4],
                                         ["10 5 3", "1 7 101010101010101", "other text heap and 42 many wor other text",
                                          "xxxer 1 6 heap"], replayed.err)
                        self.assertEqual(len(lines), 13, f"\n{replayed}")

    def test_code(self):
        for options in ((), ("--protect",)):
            recorded, replayed = self.replay("code.c", CODE, "-O0", options=options)
            self.assertEqual(replayed.out, "6 7 9\n" * 3 + recorded.out, f"\n{replayed}")

    def test_when_debug_code_is_given_up(self):
        recorded, replayed = self.replay("given_up.c", GIVEN_UP, "-O0")
        self.assertEqual(replayed.out, "-1\n" + recorded.out, f"\n{replayed}")
        self.assertIn("given_up.c:8: debug code crashed with signal 11", replayed.err)


if __name__ == "__main__":
    harness.main()
