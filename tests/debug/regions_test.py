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

# In a new thread, malloc() makes an arena of its own: it maps memory, gives a part of it back and protects another.
MEMORY = r"""#include <pthread.h>
#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *kept;
long uses_memory(long n) {
  char *big = malloc(1 << 20), *small = malloc(100);
  memset(big, 1, 1 << 20);
  big = realloc(big, 3 << 20);
  small = realloc(small, 60000);
  memset(small, 2, 60000);
  char *clear = calloc(1, 100000);
  long result = n + big[1000] + small[50000] + clear[99999];
  kept = realloc(kept, 5 << 20);
  kept[4 << 20] = 1;
  free(big);
  free(small);
  return result;
}
static void *work(void *n) {
  long value = *(long *)n;
  rdb_begin
    printf("memory %ld %ld\n", uses_memory(value), uses_memory(value + 1));
  rdb_end
  value++;
  rdb_begin
    if (value > 0) *(volatile int *)8 = 1;
  rdb_end
  return (void *)uses_memory(value);
}
int main(void) {
  pthread_t thread;
  long n = 5;
  void *result;
  kept = malloc(1 << 20);
  kept[7] = 3;
  pthread_create(&thread, 0, work, &n);
  pthread_join(thread, &result);
  printf("%ld %d %d\n", (long)result, kept[7], kept[4 << 20]);
  return 0;
}
"""

# What program functions do besides plain stores: bits and words elsewhere than their operand says, memory that is made
# read-only, and a heap that grows.
ODD = r"""#define _GNU_SOURCE
#include <rdb/rdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned long words[64];
static int calls;
__attribute__((noinline)) long bits(long n) {
  asm volatile("bts %1, %0; lock btc %k2, %0" : "+m"(words[32]) : "r"(n), "r"(-n) : "memory", "cc");
  asm volatile("lea 128(%0), %%rax; xchg %%rax, %%rsp; pushq $77; popq 24(%%rsp); xchg %%rax, %%rsp" : : "r"(words) : "rax", "memory");
  calls++;
  return (long)words[19] + (words[30] != 0) + (words[33] != 0);
}
long sealed(int n) {
  char *p = mmap(0, 5000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(p, n, 5000);
  if (mprotect(p, 8192, PROT_READ)) return -1;
  char *q = mmap(0, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mprotect(q, 4096, PROT_READ | PROT_WRITE)) return -2;
  memset(q, n, 4096);
  if (madvise(q, 4096, MADV_DONTNEED)) return -3;
  sigset_t mask;
  if (sigprocmask(SIG_UNBLOCK, 0, &mask) || !sigismember(&mask, SIGUSR2) || sigismember(&mask, SIGUSR1)) return -4;
  calls++;
  return p[4000] + q[100];
}
long grows(int n) {
  long sum = 0;
  for (int i = 0; i < n; i++) {
    char *p = malloc(100000);
    memset(p, i, 100000);
    sum += p[99999];
  }
  calls++;
  return sum + (sbrk(4096) == (void *)-1);
}
int main(void) {
  long n = 70;
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  sigprocmask(SIG_BLOCK, &mask, 0);
  rdb_begin
    printf("%ld %ld %ld\n", bits(70), sealed(7), grows(50));
    printf("%d %ld\n", calls, bits(70));
  rdb_end
  n++;
  rdb_begin
    printf("%ld\n", sealed(8));
    *(volatile int *)8 = 1;
  rdb_end
  for (int i = 0; i < 64; i++)
    if (words[i]) return 1;
  printf("%d, %ld %ld %ld\n", calls, bits(n), sealed(7), grows(50));
  return 0;
}
"""

# The program prints nothing before the first region, then lets text wait in its buffer.
PRINTING = r"""#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
void say(const char *what) { printf("program: %s\n", what); }
void say_at_once(const char *what) {
  printf("program: %s", what);
  fflush(stdout);
  printf(" at once\n");
}
void directly(const char *what) {
  char text[40];
  struct iovec both[2] = {{text, (size_t)snprintf(text, sizeof text, "program: %s", what)}, {(void *)" directly\n", 10}};
  if (writev(1, both, 2) != (ssize_t)(both[0].iov_len + 10) || write(1, what, strlen(what)) != (ssize_t)strlen(what)) _exit(9);
  fputs("to its error stream\n", stderr);
}
void around(void (*f)(void)) {
  printf("program: before\n");
  f();
  printf("program: after\n");
}
rdb_begin_globals
static void inside(void) { printf("inside\n"); }
rdb_end_globals
int main(void) {
  int n = 1;
  rdb_begin
    printf("begin\n");
    say("one");
    printf("between\n");
    say_at_once("two");
    around(inside);
    printf("end\n");
  rdb_end
  printf("first %d\n", n);
  rdb_begin
    printf("begin\n");
    say("three");
    say_at_once("four");
    say("five");
    directly("six\n");
  rdb_end
  printf("second %d\n", n);
  return 0;
}
"""


class Regions(harness.TestCase):
    def build(self, name, source, *flags):
        self.write(name + ".c", source)
        self.run_program([harness.program("rdb-clang"), "-g", *flags, "-o", name, name + ".c"], status=0)

    def record(self, *argv, status):
        return self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", *argv, status=status)

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

    def test_values_that_mean_nothing(self):
        """One line says so, before anything runs."""
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", "4", status=-signal.SIGSEGV)
        for options, words in ((["--only", "stack.c", "--only", "stak.c"], "--only stak.c: there is no such region"), (["--only", "stack.c:1"], "no such region"),
                               (["--only", ""], "--only: it cannot be empty"), (["--max-hits", "-1"], "--max-hits: -1: it cannot be negative"),
                               (["--max-hits", "few"], "--max-hits few: not a number"), (["--from", "10", "--until", "5"], "no region runs between them"),
                               (["--region-timeout", "-1"], "it cannot be negative"), (["--debug-output", ""], "it cannot be empty"),
                               (["--debug-output", "/no/such/folder/file"], "/no/such/folder/file: No such file"), (["--protect=maybe"], "expected report, undo or fatal"),
                               (["-m", "stack.rdb", "-m", "./stack.rdb"], "the same bundle as -m stack.rdb"), (["-m", "stack"], "stack/descriptors: cannot be read")):
            with self.subTest(options):
                replayed = self.replay(*options)
                self.assertEqual((replayed.status, replayed.out), (2, ""), f"\n{replayed}")
                self.assertIn(words, replayed.err)

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

    def test_memory_calls_of_program_functions_are_undone(self):
        self.build("memory", MEMORY, "-O0", "-pthread")
        recorded = self.record(self.path("memory"), status=0)
        replayed = self.replay("--stats")
        self.assertEqual(sorted(replayed.out.splitlines()), sorted([*recorded.out.splitlines(), "memory 8 9"]), replayed)
        self.assertIn("crashed with signal 11", replayed.err)
        # The first region was run again, silently, after the second went wrong; its line still counts.
        self.assertRegex(replayed.err, r"memory\.c:23 +1 +0 +1 ")

    def test_what_program_functions_did_is_undone(self):
        for level in ("-O0", "-O2"):
            for options in ([], ["--protect=undo"]):
                with self.subTest(level, options=options):
                    self.build("odd", ODD, level)
                    self.run_program(["/bin/rm", "-rf", self.path("trace")])
                    self.record(self.path("odd"), status=0)
                    replayed = self.replay(*options)
                    self.assertEqual(replayed.out.splitlines(), ["79 7 1226", "3 78", "8", "0, 79 7 1225"], f"\n{replayed}")
                    self.assertIn("crashed with signal 11", replayed.err)

    def test_what_program_functions_print_is_shown_in_its_place(self):
        self.build("printing", PRINTING, "-O0")
        self.assertEqual(self.record(self.path("printing"), status=0).out, "first 1\nsecond 1\n")
        first = ["begin", "program: one", "between", "program: two at once", "program: before", "inside", "program: after", "end"]
        second = ["begin", "program: three", "program: four at once", "program: five", "program: six", " directly", "six"]
        replayed = self.replay()
        self.assertEqual(replayed.out.splitlines(), first + second + ["first 1", "second 1"], f"\n{replayed}")
        self.assertIn("to its error stream\n", replayed.err)
        replayed = self.replay("--debug-output", self.path("debug.txt"))
        self.assertEqual(replayed.out, "first 1\nsecond 1\n", f"\n{replayed}")
        with open(self.path("debug.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read().splitlines(), first + second)

    def test_debug_output_goes_to_a_file(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", status=-signal.SIGSEGV)
        replayed = self.replay("--only", "stack.c:27", "--debug-output", self.path("out.txt"))
        self.assertEqual(replayed.out, "pushed 1\n")
        with open(self.path("out.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "total 3\n")

    def test_output_that_cannot_be_written(self):
        """The replay goes on, and says so at its end."""
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", status=-signal.SIGSEGV)
        for options in ((), ("--prefix",)):
            replayed = self.rdb("replay", "--debug-output", "/dev/full", *options, self.path("trace"), status=125)
            self.assertEqual(replayed.out, "pushed 1\n")
            self.assertIn("\nrdb: debug output was lost in part: No space left on device\n", replayed.err)
        replayed = self.run_program(["/bin/sh", "-c", f"{harness.rdb()} replay --no-module trace >/dev/full"], status=125)
        self.assertIn("\nrdb: the program's output was lost in part: No space left on device\n", replayed.err)

    def test_program_functions_call_back_into_debug_code(self):
        self.build("callback", CALLBACK, "-O0")
        recorded = self.record("./callback", status=3)
        replayed = self.replay()
        self.assertEqual(replayed.out, "441 shown 3\n576 shown 6\n729 shown 9\n" + recorded.out)
        self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")

    def test_a_damaged_bundle(self):
        self.build("stack", STACK, "-O0")
        self.record("./stack", "3", status=-signal.SIGSEGV)
        module = self.path("stack.rdb/module.so")
        with open(module, "rb") as file:
            whole = file.read()
        for size in (0, 30, 3000, len(whole) // 2):
            with open(module, "wb") as file:
                file.write(whole[:size])
            replayed = self.rdb("replay", self.path("trace"), status=2)
            self.assertIn("rdb: cannot load ./stack.rdb/module.so: it is not there, or damaged", replayed.err)

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
