# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug code asks to be called when something happens in the replay: <rdb/events.h>. The recordings have hashes of
memory and registers, which every replay checks."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

LIST = r"""#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { char name[8]; struct node *next; };
static struct node *list;
int length(struct node *n) { int k = 0; for (; n; n = n->next) k++; return k; }
rdb_begin_globals
static rdb_id watch;
static int shown;
static void on_next(const struct rdb_event *e) {
  printf("next written by %s, was %d\n", rdb_where(e->pc), *(void *const *)e->old_bytes != 0);
  if (++shown == 2) printf("removed %d, again %d\n", rdb_remove(watch), rdb_remove(watch));
}
static void on_write(const struct rdb_event *e) {
  char text[9] = "";
  rdb_read((const void *)e->arguments[1], text, e->arguments[2] < 8 ? e->arguments[2] : 8);
  printf("write of %ld bytes, %c, with %d in the list, data %s\n", e->result, text[0], length(list), (char *)e->data);
}
static void on_add(const struct rdb_event *e) {
  printf("%s %s\n", e->function, e->kind == RDB_CALL ? (char *)e->arguments[0] : "returns");
}
static void crash(const struct rdb_event *e) { *(volatile int *)8 = 1; }
rdb_end_globals
void add(const char *name) {
  struct node *n = malloc(sizeof *n);
  n->next = list;
  list = n;
  rdb_begin
    if (!watch) watch = rdb_watch(&n->next, sizeof n->next, on_next);
  rdb_end
  strcpy(n->name, name);
}
int main(void) {
  rdb_begin
    rdb_on_syscall("write", on_write, "of mine");
    rdb_on_call("add", on_add, 0);
    rdb_on_return("add", on_add, 0);
    rdb_on_exit(crash, 0);
    if (rdb_on_syscall("wrte", on_write, 0) || rdb_on_write(&watch, 8, on_write, 0)) printf("accepted\n");
  rdb_end
  add("Bartholomew");
  list->next = (struct node *)8;
  list->next = 0;
  puts("x");
  fflush(stdout);
  add("Cleo");
  return length(list);
}
"""

TILL = r"""#include <rdb/rdb.h>
#include <cstdio>
struct Till { int total = 0; void add(int n) { total += n; } };
Till till;
int main() {
  rdb_begin
    rdb::on_write(till.total, [k = 0](const rdb_event &e) mutable {
      std::printf("total %d, change %d\n", *static_cast<const int *>(e.new_bytes), ++k);
    });
    rdb::on_call("Till::add", [](const rdb_event &e) { std::printf("add %d\n", static_cast<int>(e.arguments[1])); });
    rdb::on_exit([](const rdb_event &e) { std::printf("exit %ld\n", e.number); });
  rdb_end
  till.add(3);
  till.add(4);
  return till.total;
}
"""


class EventApi(harness.TestCase):
    def replay(self, name, source, status, *flags):
        self.write(name, source)
        compiler = harness.program("rdb-clang++" if name.endswith(".cc") else "rdb-clang")
        self.run_program([compiler, "-g", *flags, "-o", "prog", name], status=0)
        self.run_program(["/bin/rm", "-rf", self.path("trace")])
        self.rdb("record", "--checksum", "-q", "-o", self.path("trace"), "--", "./prog", status=status)
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

    def test_lambdas(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                source = TILL.replace("void add", "__attribute__((noinline)) void add")
                replayed = self.replay("till.cc", source, 7, level)
                self.assertEqual(replayed.out.splitlines(), ["add 3", "total 3, change 1", "add 4", "total 7, change 2",
                                                             "exit 7"])


if __name__ == "__main__":
    harness.main()
