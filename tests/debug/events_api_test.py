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


# Which strlen() and memcpy() it is, libc chooses when a program is linked to them: at its start or at the first call.
CHOSEN = r"""#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>
rdb_begin_globals
static void on_strlen(const struct rdb_event *e) {
  if (strstr(rdb_where((const char *)e->pc - 1), "main")) printf("strlen = %ld\n", e->result);
}
static void on_memcpy(const struct rdb_event *e) {
  const void *from[2];
  if (rdb_backtrace(from, 2) == 2 && strstr(rdb_where((const char *)from[1] - 1), "main")) printf("memcpy %lu\n", e->arguments[2]);
}
rdb_end_globals
char room[100];
int main(int argc, char **argv) {
  size_t n = strlen("before");
  if (FIRST) memcpy(room, argv[0], n);
  rdb_begin
    rdb_on_return("strlen", on_strlen, 0);
    rdb_on_call("mem*", on_memcpy, 0);
  rdb_end
  n += strlen("behind it");
  memcpy(room, argv[0], 5);
  return (int)n;
}
"""

# Two coroutines and the main program, each in the same function, called from the same place, on a stack of its own.
COROUTINES = r"""#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
rdb_begin_globals
static long quick[100];
static int noted;
static void on_quick(const struct rdb_event *e) { quick[noted++] = e->result; }
static void on_step(const struct rdb_event *e) { printf("returned %ld\n", e->result); }
rdb_end_globals
ucontext_t contexts[3];
int step(int who, int next) {
  if (next >= 0) swapcontext(&contexts[who], &contexts[next]);
  return who;
}
__attribute__((noinline)) int run(int who, int next) {
  int result = step(who, next);
  return result + 10;
}
void routine(int who, int next) {
  run(who, next);
  run(who, -1);
  if (who == 1) setcontext(&contexts[2]);
  setcontext(&contexts[0]);
}
int main(void) {
  rdb_begin
    rdb_on_return("step", CALLBACK, 0);
  rdb_end
  for (int i = 1; i < 3; i++) {
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = malloc(65536);
    contexts[i].uc_stack.ss_size = 65536;
    makecontext(&contexts[i], (void (*)(void))routine, 2, i, i == 1 ? 2 : 1);
  }
  int n = run(0, 1);
  n += run(0, -1);
  rdb_begin
    for (int i = 0; i < noted; i++) printf("returned %ld\n", quick[i]);
  rdb_end
  return n;
}
"""


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
