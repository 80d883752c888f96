# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debug regions run inside a replay and change nothing in it."""
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

STACK = r"""
#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
struct item { int value; struct item *next; };
int total;
int pushes;
int count(struct item *s) { int n = 0; pushes += 100; for (; s; s = s->next) n++; return n; }
static struct item *push(struct item *stack, int value) {
  struct item *fresh = malloc(sizeof *fresh);
  fresh->value = value;
  fresh->next = stack;
  pushes++;
  rdb_begin
    printf("push %d on %d items, pushes %d\n", value, count(stack), pushes);
  rdb_end
  return fresh;
}
int main(int argc, char **argv) {
  struct item *stack = 0;
  for (int i = 1; i < argc; i++) stack = push(stack, atoi(argv[i]));
  printf("pushed %d\n", pushes);
  fflush(stdout);
  while (1) {
    total += stack->value;
    rdb_begin
      printf("total %d\n", total);
    rdb_end
    stack = stack->next;
  }
}
"""

CALLBACK = r"""
#include <rdb/rdb.h>
#include <stdio.h>
rdb_begin_globals
static int shown;
static void show(char c) { shown++; putchar(c); }
rdb_end_globals
void each_digit(int number, void (*out)(char)) {
  if (number >= 10) each_digit(number / 10, out);
  out('0' + number % 10);
}
static int calls;
int square(int x) { calls++; return x * x; }
int main(void) {
  for (int i = 7; i < 10; i++) {
    int s = square(i * 3);
    rdb_begin
      each_digit(s, show);
      printf(" shown %d\n", shown);
    rdb_end
    calls += s > 1000;
  }
  printf("calls %d\n", calls);
  return calls;
}
"""

class Regions(harness.TestCase):
    def build(self, name, source, *flags):
        self.write(name + ".c", source)
        self.run_program([harness.program("rdb-clang"), "-g", *flags, "-o", name, name + ".c"], status=0)

    def record(self, *argv, status):
        return self.rdb("record", "--checksum", "-q", "-o", self.path("trace"), "--", *argv, status=status)

    def replay(self, *options):
        return self.rdb("replay", *options, self.path("trace"))

    def test_regions_see_the_recorded_values(self):
        self.build("stack", STACK, "-O0")
        recorded = self.record("./stack", "3", "4", "5", status=-signal.SIGSEGV)
        self.assertEqual(recorded.out, "pushed 3\n")
        replayed = self.replay()
        self.assertEqual(replayed.status, -signal.SIGSEGV, f"\n{replayed}")
        # `count` is the program's own function: what it writes (pushes += 100) is undone when the region ends.
        self.assertEqual(re.sub(r"pushes \d+", "", replayed.out),
                         "push 3 on 0 items, \npush 4 on 1 items, \npush 5 on 2 items, \n"
                         "pushed 3\ntotal 5\ntotal 9\ntotal 12\n")

    def test_without_the_module_the_replay_is_the_recording(self):
        self.build("stack", STACK, "-O0")
        recorded = self.record("./stack", "3", "4", "5", status=-signal.SIGSEGV)
        replayed = self.replay("--no-module")
        self.assertEqual((replayed.out, replayed.status), (recorded.out, recorded.status))

    def test_prefix_names_time_thread_and_line(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", status=-signal.SIGSEGV)
        replayed = self.replay("--prefix")
        self.assertRegex(replayed.out, r"(?m)^\[\d+ \d+ stack\.c:14\] push 3 on 0 items")
        self.assertRegex(replayed.out, r"(?m)^pushed 1$")

    def test_only_and_max_hits(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", "4", status=-signal.SIGSEGV)
        replayed = self.replay("--only", "stack.c:27", "--max-hits", "1")
        self.assertEqual(replayed.out, "pushed 2\ntotal 4\n")

    def test_times_between_which_regions_run(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", "4", status=-signal.SIGSEGV)
        times = [int(time) for time in re.findall(r"(?m)^\[(\d+) \d+ stack", self.replay("--prefix").out)]
        self.assertEqual(len(times), 4)
        replayed = self.replay("--prefix", "--from", str(times[1]), "--until", str(times[2]))
        self.assertEqual([int(time) for time in re.findall(r"(?m)^\[(\d+) \d+ stack", replayed.out)], times[1:3])
        stopped = self.replay("--prefix", "--to", str(times[1]))
        self.assertEqual(stopped.status, 0)
        self.assertIn(f"stopped at time {times[1]}", stopped.err)

    def test_a_summary_of_hits_lines_and_time(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", "4", status=-signal.SIGSEGV)
        plain, counted = self.replay(), self.replay("--stats")
        self.assertEqual(counted.out, plain.out)
        self.assertRegex(counted.err, r"(?m)^stack\.c:14 +2 +0 +2 +\d+$")
        self.assertRegex(counted.err, r"(?m)^stack\.c:26 +2 +0 +2 +\d+$")

    def test_debug_output_goes_to_a_file(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", status=-signal.SIGSEGV)
        replayed = self.replay("--only", "stack.c:27", "--debug-output", self.path("out.txt"))
        self.assertEqual(replayed.out, "pushed 1\n")
        with open(self.path("out.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "total 3\n")

    def test_program_functions_call_back_into_debug_code(self):
        self.build("callback", CALLBACK, "-O0")
        recorded = self.record("./callback", status=3)
        replayed = self.replay()
        self.assertEqual(replayed.out, "441 shown 3\n576 shown 6\n729 shown 9\n" + recorded.out)
        self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")

    def test_a_bundle_of_another_build_is_refused(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", status=-signal.SIGSEGV)
        self.build("stack", STACK.replace("total +=", "total -="), "-O0")
        replayed = self.rdb("replay", "-m", "stack.rdb", self.path("trace"))
        self.assertEqual(replayed.status, 2, f"\n{replayed}")
        self.assertIn("another build", replayed.err)

    def test_programs_are_identical_to_plain_clang(self):
        self.build("stack", STACK, "-O2")
        stripped = re.sub(r"  *rdb_begin\n(.*\n)*?  *rdb_end\n", "", STACK).replace("#include <rdb/rdb.h>\n", "")
        os.mkdir(self.path("plain"))
        with open(self.path("plain/stack.c"), "w", encoding="utf-8") as file:
            file.write(stripped)
        self.run_program(["/usr/bin/clang-22", "-O2", "-o", "stack", "stack.c"], cwd=self.path("plain"), status=0)
        self.run_program([harness.program("rdb-clang"), "-O2", "-o", "stack", "stack.c"], status=0)
        with open(self.path("stack"), "rb") as ours, open(self.path("plain/stack"), "rb") as theirs:
            self.assertEqual(ours.read(), theirs.read())


if __name__ == "__main__":
    harness.main()
