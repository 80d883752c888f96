# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions in the loop of SQLite's virtual machine, in a recording of real work: what they see is what SQLite itself says of
its programs (EXPLAIN), and the replay with them has the state of the recording at every step. The source of SQLite, one
file of 250,000 lines, is not part of rdb: tests/compiler/sqlite_source.py has it fetched."""
import re

import harness
import sqlite_source

PROGRAM = harness.program_text(__file__, "sqlite.c")

# The head of the loop in sqlite3VdbeExec, where pOp is the instruction that comes, and the cases of some instructions.
PLACE = "    assert( pOp>=aOp && pOp<&aOp[p->nOp]);\n"
FUNCTION = "SQLITE_PRIVATE int sqlite3VdbeExec(\n"
CASES = ("Init", "Transaction", "Rewind", "Column", "Function", "AggStep", "AggFinal", "Copy", "ResultRow", "Goto", "Halt")
GLOBALS = """#include <rdb/rdb.h>
rdb_begin_globals
#include <stdio.h>
static long steps;
static int used[256], is_watched;
static void see(const char *name, long at) { if (is_watched) printf("debug: %s at %ld\\n", name, at); }
rdb_end_globals
"""
STEP = """    rdb_begin
      steps++;
    rdb_end
    rdb_begin
      if (!used[pOp->opcode]++) printf("debug: first %s\\n", sqlite3OpcodeName(pOp->opcode));
    rdb_end
"""
WATCH = """  rdb_begin
    is_watched = %d;
    printf("debug: %%ld steps\\n", steps);
  rdb_end
"""
LEAST_AT_O2 = 8  # of CASES: regions that are placed there and know where they are in SQLite's program


@harness.needs_compiler
class Sqlite(harness.TestCase):
    default_timeout = 1500

    def build(self, program, amalgamation, level):
        self.write("program.c", program)
        self.write("sqlite3.c", amalgamation)
        self.run_program([harness.program("rdb-clang"), "-g", level, "-w", "-DSQLITE_THREADSAFE=0",
                          "-DSQLITE_OMIT_LOAD_EXTENSION", "-o", "program", "program.c"], status=0)

    def with_regions(self, source):
        """SQLite and the program around it, with regions."""
        source = source.replace(FUNCTION, GLOBALS + FUNCTION).replace(PLACE, PLACE + STEP)
        for name in CASES:
            source, count = re.subn(r"^(case OP_%s: \{.*\n)" % name,
                                    r'\1  rdb_begin\n    see("%s", pOp - aOp);\n  rdb_end\n' % name, source, flags=re.M)
            self.assertEqual(count, 1, name)
        select = PROGRAM.index('  sqlite3_exec(db, "SELECT')
        end = PROGRAM.index("  return sqlite3_close")
        return PROGRAM[:select] + WATCH % 1 + PROGRAM[select:end] + WATCH % 0 + PROGRAM[end:], source

    def replay(self, level, source):
        """What SQLite says of its program, {address: name}, and what the debug code printed."""
        self.build(PROGRAM, source, level)
        recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace" + level), "--", "./program", status=0)
        self.build(*self.with_regions(source), level)
        replayed = self.rdb("replay", self.path("trace" + level), status=0)
        lines = replayed.out.splitlines()
        debug = [line.removeprefix("debug: ") for line in lines if line.startswith("debug: ")]
        self.assertEqual([line for line in lines if not line.startswith("debug: ")], recorded.out.splitlines())
        explained = dict(line.split("|")[:2] for line in recorded.out.split("--\n")[0].splitlines())
        return explained, debug

    def check(self, explained, debug):
        """The instructions that were seen at their place, {name}, and the numbers of steps."""
        seen = set()
        for line in debug:
            if found := re.fullmatch(r"(\w+) at (\d+)", line):
                self.assertEqual(explained.get(found[2]), found[1], line)
                seen.add(found[1])
        return seen, [line for line in debug if line.endswith(" steps")]

    def test_regions_in_the_virtual_machine(self):
        with open(sqlite_source.path(), encoding="utf-8", errors="surrogateescape") as file:
            source = file.read()
        self.assertEqual((source.count(PLACE), source.count(FUNCTION)), (1, 1))
        explained, debug = self.replay("-O0", source)
        seen, steps = self.check(explained, debug)
        self.assertEqual(seen, set(CASES) & set(explained.values()))
        firsts = {line.split(" ")[1] for line in debug if line.startswith("first ")}
        self.assertLessEqual({"Init", "Rewind", "Next", "AggStep", "Halt"}, firsts)
        self.assertLessEqual(set(explained.values()) - firsts, {"Noop"}, "instructions of the program that were never seen")
        self.assertGreater(int(steps[-1].split(" ")[0]), 400)
        # With optimisation what is there is right, and most of it is there.
        explained, debug = self.replay("-O2", source)
        seen_there, steps_there = self.check(explained, debug)
        self.assertEqual(steps_there, steps)
        self.assertLessEqual(seen_there, seen)
        self.assertGreaterEqual(len(seen_there), LEAST_AT_O2, seen_there)


if __name__ == "__main__":
    harness.main()
