#include "sqlite3.c"
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
