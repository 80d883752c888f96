# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""rdb print on something large: a recording of SQLite, with and without optimisation, and a million hits."""
import os
import re

import harness
import sqlite_source

CLANG = "/usr/bin/clang-22"
QUERIES = ["create table t(a integer primary key, b text)", "insert into t(b) values('x'),('yy'),('zzz')",
           "select count(*) from t where b > 'y'"]
DRIVER = r"""#include "sqlite3.h"
int main(void) {
  sqlite3 *db;
  sqlite3_open(":memory:", &db);
  const char *queries[] = {%s};
  for (int i = 0; i < %d; i++) sqlite3_exec(db, queries[i], 0, 0, 0);
  return sqlite3_close(db);
}
""" % (", ".join('"%s"' % query for query in QUERIES), len(QUERIES))
SHOWN = r"zSql = (.*), rc = (.*), db->nDb = (.*), db->eOpenState = (.*), \*db->aDb\[0\]\.pSchema = (.*)"
LOOP = harness.program_text(__file__, "print_full.c")


@harness.needs_compiler
class Large(harness.TestCase):
    def test_sqlite(self):
        source = sqlite_source.path()
        with open(source) as file:
            lines = file.read().splitlines()
        begin = max(i for i, line in enumerate(lines) if line.startswith("SQLITE_API int sqlite3_exec("))
        step = next(i for i in range(begin, begin + 60) if "rc = sqlite3_step(pStmt);" in lines[i]) + 1
        self.write("driver.c", DRIVER)
        flags = ["-I" + os.path.dirname(source), "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"]
        for level in ("-O0", "-O2"):
            with self.subTest(level=level):
                self.run_program(["/bin/rm", "-rf", self.path("trace")])
                self.run_program([CLANG, level, "-w", *flags, source, "driver.c", "-lm", "-o", "program"], status=0, timeout=900)
                self.rdb("record", "-q", "-o", "trace", "./program", status=0)
                printed = self.rdb("print", "trace", f"{source}:{step}",
                                   "zSql, rc, db->nDb, db->eOpenState, *db->aDb[0].pSchema", "--", level, *flags,
                                   status=0, timeout=900)
                hits = [re.search(SHOWN, hit).groups() for hit in printed.out.splitlines()]
                if level == "-O0":
                    # SQLite asks itself for its schema in between; the last query makes a row, and is asked for another.
                    own = [hit for hit in hits if hit[0].strip('"') in QUERIES]
                    self.assertEqual([hit[:4] for hit in own], [(f'"{query}"', rc, "2", "118") for query, rc in
                                                                (*((query, "0") for query in QUERIES), (QUERIES[-1], "100"))])
                    for hit in own:
                        self.assertRegex(hit[4], r"^\{schema_cookie = \d+, iGeneration = \d+, tblHash = \{")
                    unoptimised = hits
                self.assertEqual(len(hits), len(unoptimised))
                for hit, right in zip(hits, unoptimised):
                    for value, expected in zip(hit[:4], right):
                        self.assertIn(value, (expected, "<not available here>"), hit)

    def test_a_million_hits_in_little_memory(self):
        self.write("loop.c", LOOP)
        self.run_program([CLANG, "-O0", "loop.c", "-o", "program"], status=0)
        self.rdb("record", "-q", "-o", "trace", "./program", status=0)
        script = ("import resource, subprocess, sys\n"
                  "p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)\n"
                  "count, last = 0, ''\n"
                  "for line in p.stdout: count, last = count + 1, line\n"
                  "p.wait()\n"
                  "print(count, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, last.split('] ')[1], end='')")
        result = self.run_program(["/usr/bin/python3", "-c", script, harness.rdb(), "print", self.path("trace"), "loop.c:4",
                                   "i, sum"],
                                  status=0, timeout=900)
        count, kibibytes, last = result.out.split(" ", 2)
        self.assertEqual((int(count), last), (1000000, f"i = 999999, sum = {999999 * 999998 // 2}\n"))
        self.assertLess(int(kibibytes), 200 * 1024)


if __name__ == "__main__":
    harness.main()
