# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions in the loop of SQLite's virtual machine, in a recording of real work: what they see is what SQLite itself says of
its programs (EXPLAIN), and the replay with them has the state of the recording at every step. The source of SQLite, one
file of 250,000 lines, is not part of rdb: tests/compiler/sqlite_source.py has it fetched."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "compiler"))
import harness
import sqlite_source

PROGRAM = r"""#include "sqlite3.c"
#include <stdio.h>
static int show(void *unused, int columns, char **values, char **names) {
  for (int i = 0; i < columns; i++) printf("%s%c", values[i] ? values[i] : "NULL", i + 1 < columns ? '|' : '\n');
  return 0;
}
int main(void) {
  sqlite3 *db;
  if (sqlite3_open(":memory:", &db)) return 1;
  sqlite3_exec(db, "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT)", 0, 0, 0);
  sqlite3_exec(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) "
                   "INSERT INTO t SELECT i, 'row ' || i FROM n", 0, 0, 0);
  sqlite3_exec(db, "EXPLAIN SELECT count(*), sum(a) FROM t WHERE b LIKE '%3%'", show, 0, 0);
  puts("--");
  sqlite3_exec(db, "SELECT count(*), sum(a) FROM t WHERE b LIKE '%3%'", show, 0, 0);
  return sqlite3_close(db);
}
"""

# The head of the loop in sqlite3VdbeExec, where pOp is the instruction that comes.
PLACE = "    assert( pOp>=aOp && pOp<&aOp[p->nOp]);\n"
FUNCTION = "SQLITE_PRIVATE int sqlite3VdbeExec(\n"
GLOBALS = """#include <rdb/rdb.h>
rdb_begin_globals
#include <stdio.h>
static long steps;
static int used[256];
rdb_end_globals
"""
STEP = """    rdb_begin
      steps++;
      if (!used[pOp->opcode]++) printf("first %s at %d\\n", sqlite3OpcodeName(pOp->opcode), (int)(pOp - aOp));
    rdb_end
"""
LAST = """  rdb_begin
    printf("steps %s\\n", steps > 400 ? "many" : "few");
  rdb_end
"""


@harness.needs_compiler
class Sqlite(harness.TestCase):
    default_timeout = 600

    def build(self, program, amalgamation, level):
        self.write("program.c", program)
        self.write("sqlite3.c", amalgamation)
        self.run_program([harness.program("rdb-clang"), "-g", level, "-w", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION",
                          "-o", "program", "program.c"], status=0)

    def test_regions_in_the_virtual_machine(self):
        with open(sqlite_source.path(), encoding="utf-8", errors="surrogateescape") as file:
            source = file.read()
        self.assertEqual((source.count(PLACE), source.count(FUNCTION)), (1, 1))
        for level in ("-O0",):
            with self.subTest(level):
                self.build(PROGRAM, source, level)
                recorded = self.rdb("record", "--checksum", "-q", "-o", self.path("trace" + level), "--", "./program", status=0)
                self.build(PROGRAM.replace("  return sqlite3_close", LAST + "  return sqlite3_close"),
                           source.replace(FUNCTION, GLOBALS + FUNCTION).replace(PLACE, PLACE + STEP), level)
                replayed = self.rdb("replay", self.path("trace" + level), status=0)
                lines = replayed.out.splitlines()
                debug = [line for line in lines if line.startswith(("first ", "steps "))]
                self.assertEqual([line for line in lines if line not in debug], recorded.out.splitlines())
                self.assertEqual(debug[-1], "steps many", replayed.err)
                explained = {line.split("|")[1] for line in recorded.out.split("--\n")[0].splitlines()}
                seen = {re.match(r"first (\w+)", line)[1] for line in debug if line.startswith("first")}
                self.assertLessEqual({"Init", "Rewind", "Next", "AggStep", "Halt"}, seen)
                self.assertLessEqual(explained - seen, {"Noop"}, "instructions of the program that were never seen")


if __name__ == "__main__":
    harness.main()
