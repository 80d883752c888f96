# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions run wherever code runs: before main and after exit, in signal handlers, in recursion, in threads, in static and
shared libraries, each with the bundle of its own file. Every recording has hashes of memory and registers, which the
replay checks."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

TIMES = r"""#include <rdb/rdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static int state = 1;
__thread int depth;
__attribute__((constructor)) static void early(void) {
  state += 1;
  rdb_begin
    printf("constructor %d\n", state);
  rdb_end
  state += 1;
}
static void late(void) {
  state += 1;
  rdb_begin
    printf("exit handler %d\n", state);
  rdb_end
  state += 1;
}
static void handler(int number) {
  state += number;
  rdb_begin
    printf("signal %d %d\n", number, state);
  rdb_end
  state += 1;
}
static int fall(int n) {
  depth++;
  if (n == 0) {
    rdb_begin
      printf("depth %d\n", depth);
    rdb_end
    return depth;
  }
  return fall(n - 1) + 1;
}
int main(void) {
  setvbuf(stdout, 0, _IOLBF, 0);
  atexit(late);
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  int n = fall(5);
  printf("%d %d\n", state, n);
  return 4;
}
"""

PARTS = {
    "main.c": r"""#include <rdb/rdb.h>
#include <stdio.h>
int area(int, int);
int volume(int, int, int);
int shared_calls(void);
int main(void) {
  int sum = 0;
  for (int i = 1; i < 4; i++) {
    int one = volume(i, i + 1, 2) + area(i, 2);
    rdb_begin
      printf("main i %d one %d calls %d area %d\n", i, one, shared_calls(), area(i, 1));
    rdb_end
    sum += one;
  }
  printf("sum %d calls %d\n", sum, shared_calls());
  return sum & 63;
}
""",
    "area.c": r"""#include <rdb/rdb.h>
#include <stdio.h>
static int calls;
int area(int w, int h) {
  calls++;
  int result = w * h;
  rdb_begin
    printf("area %d x %d, call %d\n", w, h, calls);
  rdb_end
  return result;
}
""",
    "volume.c": r"""#include <rdb/rdb.h>
#include <stdio.h>
static int calls;
static __thread int last;
int shared_calls(void) { return calls; }
static int twice(int n) { return 2 * n; }
int volume(int w, int h, int d) {
  calls += 1;
  int result = w * h * d;
  last = result;
  rdb_begin
    printf("volume %d, call %d, twice %d\n", last, calls, twice(result));
  rdb_end
  return twice(result) / 2;
}
""",
}
PARTS_DEBUG = [line for i in (1, 2, 3) for line in (
    f"volume {i * (i + 1) * 2}, call {i}, twice {i * (i + 1) * 4}", f"area {i} x 2, call {i}",
    f"main i {i} one {i * (i + 1) * 2 + i * 2} calls {i} area {i}")]

THREADS = {
    "main.c": r"""#include <pthread.h>
#include <rdb/rdb.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
void work(int tid, int round);
int worked(void);
__thread int own;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
rdb_begin_globals
static int hits, last_thread, turns;
rdb_end_globals
int bump(int by) { own += by; return own; }
static void *run(void *argument) {
  int tid = (int)syscall(SYS_gettid);
  own = *(int *)argument;
  for (int round = 0; round < 20; round++) {
    pthread_mutex_lock(&lock);
    total++;
    rdb_begin
      hits++;
      turns += tid != last_thread;
      last_thread = tid;
      printf("main %d round %d total %d own %d bumped %d\n", tid, round, total, own, bump(1000));
    rdb_end
    pthread_mutex_unlock(&lock);
    work(tid, round);
    own += 1;
    for (volatile int k = 0; k < 3000; k++) {}
  }
  return 0;
}
int main(void) {
  pthread_t threads[3];
  int starts[3] = {100, 200, 300};
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, run, &starts[i]);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  rdb_begin
    printf("hits %d total %d\n", hits, total);
  rdb_end
  printf("%d %d\n", total, worked());
  return 0;
}
""",
    "work.c": r"""#include <rdb/rdb.h>
#include <stdio.h>
static __thread int rounds;
static int all;
rdb_begin_globals
static int seen;
rdb_end_globals
int worked(void) { return all; }
void work(int tid, int round) {
  rounds++;
  __atomic_add_fetch(&all, 1, __ATOMIC_SEQ_CST);
  rdb_begin
    printf("work %d round %d own %d seen %d\n", tid, round, rounds, ++seen);
  rdb_end
  rounds += 0;
}
""",
}


# Instructions that the compiler selects in more than one way, and what each adds to a counter.
STATEMENTS = (("n++;", 1), ("n += (int)take(big);", 3), ('__asm__ volatile("nop");', 0), ('__asm__ volatile("incl %0" : "+m"(n) : : "memory");', 1),
              ("__atomic_fetch_add(&n, 2, 5);", 2), ("n += __builtin_popcount(7u);", 3), ("big = (struct big){{3, n}};", 0),
              ("if (n > 1000) take(big); else n++;", 1), ("n += (int)precise(2.5L, big);", 5), ("switch (n & 1) { case 0: n += 2; break; default: n += 2; }", 2),
              ("n += (n & 1) ? first(big) : first(big);", 3), ("memset(text, n, sizeof text);", 0), ("n += (int)__builtin_expect(n > 0, 1);", 1),
              ("{ char room[n]; room[0] = 1; n += room[0]; }", 1), ("n += argc > 5 ? 7 : 2;", 2))


# A library that is unloaded, and comes back somewhere else: where it was, another has its code then.
PLUGIN = r"""#include <rdb/rdb.h>
#include <stdio.h>
int calls;
static int twice(int n) { return 2 * n; }
rdb_begin_globals
static int hits;
rdb_end_globals
int work(int n) {
  calls++;
  rdb_begin
    printf("work %d: %d calls, %d, hit %d\n", n, calls, twice(n), ++hits);
  rdb_end
  return n + calls;
}
"""
PLUGIN_USER = r"""#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
int main(void) {
  int sum = 0;
  for (int i = 0; i < 4; i++) {
    void *library = dlopen("./libplugin.so", RTLD_NOW);
    int (*work)(int) = (int (*)(int))dlsym(library, "work");
    sum += work(i) + work(10 + i);
    struct link_map *map;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    char *begin = (char *)map->l_addr;
    dlclose(library);
    if (i == 1) continue; // perhaps at the same place
    if (mmap(begin, 1 << 14, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != begin) return 99;
  }
  printf("%d\n", sum);
  return 0;
}
"""

# A region behind a call, where another way comes along: it is not reached if the call is left by a jump, or by an exception.
LEFT = {"left.c": r"""#include <rdb/rdb.h>
#include <setjmp.h>
#include <stdio.h>
static jmp_buf out;
static volatile int total;
__attribute__((noinline)) static int check(int n) {
  if (n == 1) longjmp(out, 1);
  total++;
  return 2 * n;
}
__attribute__((noinline)) static void far(int c, int n) {
  if (c) {
    total += 2;
  } else {
    check(n);
    rdb_begin
      printf("far %d\n", n);
    rdb_end
  }
}
__attribute__((noinline)) static void near(int n) {
  if (!setjmp(out)) {
    check(n);
    rdb_begin
      printf("near %d\n", n);
    rdb_end
  }
  total++;
}
int main(void) {
  for (int n = 0; n < 3; ++n) {
    if (!setjmp(out)) far(0, n);
    far(1, n);
    near(n);
  }
  return total - 13;
}
""", "left.cc": r"""#include <cstdio>
#include <rdb/rdb.h>
static volatile int total;
__attribute__((noinline)) static void check(int n) {
  if (n == 1) throw n;
  total = total + 1;
}
__attribute__((noinline)) static void near(int n) {
  try {
    check(n);
    rdb_begin
      printf("near %d\n", n);
    rdb_end
  } catch (int) {
  }
  total = total + 1;
}
__attribute__((noinline)) static void far(int c, int n) {
  if (c) {
    total = total + 2;
  } else {
    check(n);
    rdb_begin
      printf("far %d\n", n);
    rdb_end
  }
}
int main() {
  for (int n = 0; n < 3; ++n) {
    try {
      far(0, n);
    } catch (int) {
    }
    far(1, n);
    near(n);
  }
  return total - 13;
}
"""}


# Optimised, the first instruction after each region is the one that faults. Where a handler repairs the fault, the
# instruction is executed once more, but the program does not come past the region again.
FAULTS = r"""#define _GNU_SOURCE
#include <rdb/rdb.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>
static int *page;
static void repair(int number, siginfo_t *info, void *context) {
  (void)info;
  if (number == SIGSEGV)
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
  else
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RCX] = 3;
}
__attribute__((noinline)) static int load(const int *from) {
  rdb_begin
    printf("load %s\n", from ? "mapped" : "null");
  rdb_end
  return *from;
}
__attribute__((noinline)) static long divide(long by) {
  long result;
  rdb_begin
    printf("divide by %ld\n", by);
  rdb_end
  __asm__ volatile("cqto; idivq %%rcx" : "=a"(result) : "0"(12l), "c"(by) : "rdx");
  return result;
}
int main(void) {
  struct sigaction action = {.sa_sigaction = repair, .sa_flags = SA_SIGINFO};
  sigaction(SIGFPE, &action, 0);
  sigaction(SIGSEGV, &action, 0);
  page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  printf("%d %ld\n", load(page), divide(0));
  fflush(stdout);
  signal(SIGSEGV, SIG_DFL);
  return load(0);
}
"""


def statements_program():
    """A region in front of each of the statements, and after the last; and what the regions print."""
    text = ("#include <rdb/rdb.h>\n#include <stdio.h>\n#include <string.h>\nstruct big { long part[9]; };\n"
            "static long take(struct big b) { return b.part[0]; }\nstatic int first(struct big b) { return (int)b.part[0]; }\n"
            "static long double precise(long double x, struct big b) { return x + b.part[0] - 0.5L; }\n"
            "int main(int argc, char **argv) {\n  struct big big = {{3}};\n  char text[40];\n  int n = argc;\n")
    n, printed = 1, []
    for number, (statement, more) in enumerate((*STATEMENTS, ("", 0))):
        text += f'rdb_begin\n  printf("{number} %d %d\\n", n, argc);\nrdb_end\n  {statement}\n'
        printed.append(f"{number} {n} 1")
        n += more
    return text + "  return argc - 1 + 0 * text[0];\n}\n", printed


class Places(harness.TestCase):
    def test_a_region_right_before_the_instruction_that_faults(self):
        for level in ("-O0", "-O1", "-O2"):
            with self.subTest(level):
                self.write("prog.c", FAULTS)
                self.run_program([harness.program("rdb-clang"), level, "-g", "prog.c", "-o", "prog"], status=0)
                recorded, replayed = self.record_and_replay()
                self.assertEqual(recorded.out, "0 4\n")
                lines = replayed.out.splitlines()
                self.assertEqual(lines[-2:], ["0 4", "load null"], f"\n{replayed}")
                self.assertEqual(lines.count("load mapped"), 1, f"\n{replayed}")
                self.assertEqual(lines.count("divide by 0"), 1, f"\n{replayed}")
                self.assertIn("load at prog.c:", replayed.err, f"\n{replayed}")

    def record_and_replay(self, *options, env=None):
        self.run_program(["/bin/rm", "-rf", self.path("trace")])
        recorded = self.rdb("record", "--checksum=calls", "-q", "-o", self.path("trace"), "--", "./prog", env=env)
        bare = self.rdb("replay", "--no-module", self.path("trace"))
        self.assertEqual((bare.out, bare.status), (recorded.out, recorded.status))
        replayed = self.rdb("replay", *options, self.path("trace"))
        self.assertEqual(replayed.status, recorded.status, f"\n{replayed}")
        return recorded, replayed

    def check(self, level, replayed, expected):
        """Optimised code has lost some of its places and values; what is shown is right nevertheless."""
        found = replayed.out.splitlines()
        if level == "-O0":
            self.assertEqual(found, expected, replayed.err)
        self.assertEqual(found, [line for line in expected if line in found])

    def test_before_main_after_exit_in_handlers_and_deep_down(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                self.write("times.c", TIMES)
                self.run_program([harness.program("rdb-clang"), "-g", level, "-o", "prog", "times.c"], status=0)
                recorded, replayed = self.record_and_replay()
                self.assertEqual(recorded.out, "14 11\n")
                expected = ["constructor 2", "signal 10 13", "depth 6", "14 11", "exit handler 15"]
                self.check(level, replayed, expected)

    def test_in_front_of_every_kind_of_statement(self):
        program, printed = statements_program()
        self.write("statements.c", program)
        for flags in ([], ["-g"]):
            with self.subTest(flags=flags):
                self.run_program([harness.program("rdb-clang"), *flags, "-O0", "-o", "prog", "statements.c"], status=0)
                _, replayed = self.record_and_replay()
                self.assertEqual(replayed.out.splitlines(), printed)

    def test_behind_calls_that_are_left_in_another_way(self):
        for name, text in LEFT.items():
            self.write(name, text)
        for compiler, name, flags in (("rdb-clang", "left.c", []), ("rdb-clang", "left.c", ["-static"]), ("rdb-clang", "left.c", ["-D_FORTIFY_SOURCE=2", "-O2"]),
                                      ("rdb-clang++", "left.cc", []), ("rdb-clang++", "left.cc", ["-O2"])):
            with self.subTest(name=name, flags=flags):
                self.run_program([harness.program(compiler), *flags, "-w", "-o", "prog", name], status=0)
                _, replayed = self.record_and_replay()
                self.check("-O2" if "-O2" in flags else "-O0", replayed, ["far 0", "near 0", "far 2", "near 2"])

    def test_calls_that_are_left_do_not_return(self):
        self.write("left.c", LEFT["left.c"])
        for flags in ([], ["-static"]):
            with self.subTest(flags=flags):
                self.run_program([harness.program("rdb-clang"), "-g", *flags, "-w", "-o", "prog", "left.c"], status=0)
                self.run_program(["/bin/rm", "-rf", self.path("trace")])
                self.rdb("record", "-q", "-o", self.path("trace"), "--", "./prog", status=0)
                traced = self.rdb("replay", "-q", "--no-module", "--trace-calls", "check", self.path("trace"), status=0)
                lines = re.findall(r"^\[\d+ \d+\] (.*)  \(", traced.out + traced.err, re.M)
                self.assertEqual(lines, ["check(n=0)", "check = 0"] * 2 + ["check(n=1)"] * 2 + ["check(n=2)", "check = 4"] * 2)

    def test_static_and_shared_libraries_with_their_bundles(self):
        compiler = harness.program("rdb-clang")
        for name, text in PARTS.items():
            self.write(name, text)
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                flags = ["-g", level, "-fno-inline"]
                self.run_program(["/bin/rm", "-rf", "libarea.a", "libvolume.so", "libvolume.so.rdb", "prog.rdb"], status=0)
                self.run_program([compiler, *flags, "-c", "area.c"], status=0)
                self.run_program(["/usr/bin/ar", "rc", "libarea.a", "area.o"], status=0)
                self.run_program([compiler, *flags, "-fPIC", "-shared", "-o", "libvolume.so", "volume.c"], status=0)
                self.run_program([compiler, *flags, "-o", "prog", "main.c", "-L.", "-larea", "-lvolume", "-Wl,-rpath,$ORIGIN"], status=0)
                recorded, replayed = self.record_and_replay("-m", "prog.rdb", "-m", "libvolume.so.rdb")
                self.check(level, replayed, PARTS_DEBUG + recorded.out.splitlines())
                # Found by themselves, all of them.
                found = self.rdb("replay", self.path("trace"), status=recorded.status)
                self.assertEqual(found.out, replayed.out)
                self.assertRegex(found.err, r"rdb: running the debug regions of \./prog\.rdb\nrdb: running the debug regions of /\S*/libvolume\.so\.rdb\n")
                self.assertNotIn("libvolume.so.rdb", self.rdb("replay", "-m", "prog.rdb", self.path("trace"), status=recorded.status).err)

    def test_a_library_that_comes_back(self):
        self.write("plugin.c", PLUGIN)
        self.write("user.c", PLUGIN_USER)
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                self.run_program([harness.program("rdb-clang"), "-g", level, "-fPIC", "-shared", "-o", "libplugin.so", "plugin.c"], status=0)
                self.run_program(["clang-22", "-g", level, "-o", "prog", "user.c", "-ldl"], status=0)
                recorded, replayed = self.record_and_replay()
                self.assertEqual(recorded.status, 0, f"\n{recorded}")
                expected = []
                for i in range(4):
                    expected += [f"work {n}: {k} calls, {2 * n}, hit {2 * i + k}" for k, n in ((1, i), (2, 10 + i))]
                self.check(level, replayed, expected + recorded.out.splitlines())

    def test_threads_with_two_bundles(self):
        """Each region belongs to the thread that runs it: its values, its thread-local variables, the prefix; the state of
        debug code is one for all."""
        compiler = harness.program("rdb-clang")
        for name, text in THREADS.items():
            self.write(name, text)
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                self.run_program(["/bin/rm", "-rf", "libwork.so.rdb", "prog.rdb"], status=0)
                self.run_program([compiler, "-g", level, "-fPIC", "-shared", "-o", "libwork.so", "work.c"], status=0)
                self.run_program([compiler, "-g", level, "-pthread", "-o", "prog", "main.c", "-L.", "-lwork", "-Wl,-rpath,$ORIGIN"], status=0)
                recorded, replayed = self.record_and_replay("-m", "prog.rdb", "-m", "libwork.so.rdb", "--prefix")
                self.assertEqual(recorded.out, "60 60\n")
                if level == "-O0":
                    self.threads_are_whole(replayed)
                found = re.findall(r"(?m)^\[(\d+) (\d+) (?:main|work)\.c:\d+\] (?:main|work) (\d+) ", replayed.out)
                self.assertEqual([line for line in found if line[1] != line[2]], [], replayed)
                times = [int(line[0]) for line in found]
                self.assertEqual(times, sorted(times))

    def threads_are_whole(self, replayed):
        main = re.findall(r"(?m)^\[\d+ (\d+) main\.c:\d+\] main \d+ round (\d+) total (\d+) own (\d+) bumped (\d+)$", replayed.out)
        work = re.findall(r"(?m)^\[\d+ (\d+) work\.c:\d+\] work \d+ round (\d+) own (\d+) seen (\d+)$", replayed.out)
        self.assertEqual([int(line[2]) for line in main], list(range(1, 61)), replayed)
        self.assertEqual([int(line[3]) for line in work], list(range(1, 61)), replayed)
        starts = {}
        for thread, round_, _, own, bumped in main:
            start = starts.setdefault(thread, int(own))
            self.assertEqual((int(own), int(bumped)), (start + int(round_), start + int(round_) + 1000), replayed)
        self.assertEqual(sorted(starts.values()), [100, 200, 300])
        for thread in starts:
            rounds = [(int(line[1]), int(line[2])) for line in work if line[0] == thread]
            self.assertEqual(rounds, [(i, i + 1) for i in range(20)], replayed)
        self.assertRegex(replayed.out, r"(?m)^\[\d+ \d+ main\.c:\d+\] hits 60 total 60$")
        self.assertTrue(replayed.out.endswith("60 60\n"), replayed)


if __name__ == "__main__":
    harness.main()
