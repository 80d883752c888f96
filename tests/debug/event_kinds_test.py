# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each event of <rdb/events.h> and both its sides, with the values that it carries. The recordings have hashes of memory
and registers, which every replay checks: being called changes nothing."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

# Registered in an initialiser of the debug module, before the program's first instruction.
SIDES = r"""#include <rdb/rdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int value = 5;
char text[8];
int seen;
__attribute__((optnone, noinline)) double mean(double a, float b, int n) { return (a + b) / n; }
__attribute__((optnone, noinline)) long many(long a, long b, long c, long d, long e, long f, long g, long h) { return a + b + c + d + e + f + g + h; }
static void on_usr1(int number) { seen += number; }
rdb_begin_globals
static void named(const struct rdb_event *e) {
  static const char *const kinds[] = {"syscall before", "syscall after", "call", "return", "before", "after",
                                      "signal", "thread start", "thread end", "exit", "time"};
  printf("%s", kinds[e->kind]);
}
static void of_call(const struct rdb_event *e) {
  named(e);
  printf(" %ld(%lu, .., %lu)", e->number, e->arguments[0], e->arguments[2]);
  if (e->kind == RDB_SYSCALL_AFTER) printf(" = %ld", e->result);
  printf(", stack %s\n", e->registers->rsp / 4096 == (unsigned long)e->data / 4096 ? "same" : "other");
}
static void of_memory(const struct rdb_event *e) {
  named(e);
  printf(" %s %zu of %zu, was %d, is %d, in memory %d%s, rip %s\n", e->is_write ? "write" : "read", e->touched_size, e->size,
         *(const int *)e->old_bytes, *(const int *)e->new_bytes, value, e->by_system_call ? ", by a system call" : "",
         e->registers->rip == (unsigned long)e->pc ? "there" : "behind");
}
static void of_mean(const struct rdb_event *e) {
  named(e);
  if (e->kind == RDB_CALL)
    printf(" %s(%g, %g, %d)\n", e->function, rdb_double_argument(0), rdb_float_argument(1), (int)e->arguments[0]);
  else
    printf(" %s = %g\n", e->function, rdb_double_result());
}
static void of_many(const struct rdb_event *e) {
  named(e);
  const void *frames[8];
  size_t n = rdb_backtrace(frames, 8);
  printf(" many(%lu, ..., %lu, %lu, %lu), caller %.7s\n", e->arguments[0], e->arguments[5], rdb_stack_argument(0),
         rdb_stack_argument(1), n > 1 ? rdb_where(frames[1]) : "none");
}
static void of_signal(const struct rdb_event *e) {
  named(e);
  printf(" %ld, seen %d\n", e->number, seen);
}
static void of_exit(const struct rdb_event *e) {
  named(e);
  printf(" %ld, value %d\n", e->number, value);
}
static unsigned long begin;
static void of_time(const struct rdb_event *e) {
  named(e);
  printf(" +%lu, value %d\n", e->time - begin, value);
  if (e->time - begin < 40 && !rdb_on_time(e->time + 20, of_time, 0)) printf("refused\n");
}
rdb_end_globals
int main(void) {
  char frame[4];
  rdb_begin
    rdb_on_syscall_before("getppid", of_call, frame);
    rdb_on_syscall("110", of_call, frame);
    rdb_on_write_before(&value, sizeof value, of_memory, 0);
    rdb_on_write(&value, sizeof value, of_memory, 0);
    rdb_on_read_before(&value, sizeof value, of_memory, 0);
    rdb_on_call("mean", of_mean, 0);
    rdb_on_return("mean", of_mean, 0);
    rdb_on_call_at((void *)many, of_many, 0);
    rdb_on_signal(of_signal, 0);
    rdb_on_exit(of_exit, 0);
    begin = rdb_time();
    rdb_on_time(begin, of_time, 0);
  rdb_end
  for (volatile int i = 0; i < 20; i++) {}
  syscall(110, 1, 2, 3);
  value = 7;
  ((char *)&value)[1] = 1;
  int copy = value;
  if (pread(3, &value, 2, 0) != 2) return 1;
  double half = mean(3, 4, 2);
  long all = many(1, 2, 3, 4, 5, 6, 7, 8);
  signal(SIGUSR1, on_usr1);
  raise(SIGUSR1);
  printf("%d %g %ld %d\n", copy, half, all, seen);
  memcpy(frame, text, sizeof frame);
  return 3;
}
"""

# What system calls read: data as far as they took it, paths, vectors, structures.
READS = r"""#include <rdb/rdb.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
char text[] = "0123456789";
char path[] = "input";
struct iovec parts[] = {{text, 2}, {text + 4, 3}};
struct timespec no_time = {0, 1};
rdb_begin_globals
static void seen(const struct rdb_event *e) {
  printf("%s %s [%d..%d) of %s%s\n", e->kind == RDB_ACCESS_BEFORE ? "before" : "after", e->is_write ? "write" : "read",
         (int)((const char *)e->touched - (const char *)e->address),
         (int)((const char *)e->touched - (const char *)e->address + e->touched_size), (const char *)e->data,
         e->by_system_call ? ", by a system call" : "");
}
rdb_end_globals
int main(void) {
  rdb_begin
    rdb_on_read(text, sizeof text, seen, "text");
    rdb_on_read_before(text, sizeof text, seen, "text");
    rdb_on_read(path, sizeof path, seen, "path");
    rdb_on_read(parts, sizeof parts, seen, "parts");
    rdb_on_read(&no_time, sizeof no_time, seen, "no_time");
    rdb_on_write(text, sizeof text, seen, "text written");
  rdb_end
  int ends[2];
  if (write(-1, text, 4) != -1 || pipe(ends)) return 1;
  if (write(ends[1], text + 2, 4) != 4 || writev(ends[1], parts, 2) != 5) return 2;
  if (access(path, R_OK) || nanosleep(&no_time, 0)) return 3;
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 1};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || sendmsg(pair[0], &message, 0) != 2) return 4;
  if (read(pair[1], text, 1) != 1) return 5;
  return 0;
}
"""
READS_SEEN = ["before read [2..6) of text", "after read [2..6) of text",
              "before read [0..7) of text", "after read [0..7) of text", "after read [0..32) of parts",
              "after read [0..6) of path", "after read [0..16) of no_time",
              "before read [0..2) of text", "after read [0..2) of text", "after read [0..16) of parts",
              "after write [0..1) of text written"]

# Ways to write: vectors, strings, atomics, unaligned, across a range's begin and end, and not at all.
WAYS = r"""#include <rdb/rdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
_Alignas(64) unsigned char area[256];
rdb_begin_globals
static unsigned char shadow[256];
static void written(const struct rdb_event *e) {
  printf("[%d..%d) %s\n", (int)((const unsigned char *)e->touched - area),
         (int)((const unsigned char *)e->touched + e->touched_size - area),
         memcmp(e->touched_old, shadow + ((const unsigned char *)e->touched - area), e->touched_size) ? "wrong" : "right");
  memcpy(shadow, area, sizeof shadow);
}
rdb_end_globals
int main(void) {
  rdb_begin
    rdb_on_write(area + 64, 100, written, 0);
  rdb_end
  *(volatile long *)(area + 61) = 0x1122334455667788;
  *(volatile long *)(area + 160) = 9;
  *(volatile long *)(area + 164) = 9;
  *(volatile long *)(area + 56) = 9;
  unsigned char *to = area + 70;
  unsigned long count = 5;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(3) : "memory");
  to = area + 200;
  count = 0;
  __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(3) : "memory");
  const unsigned char *from = area + 70;
  to = area + 100;
  __asm__ volatile("movsb" : "+D"(to), "+S"(from) : : "memory");
  __asm__ volatile("movups (%0), %%xmm1; paddb %%xmm1, %%xmm1; movups %%xmm1, 7(%0)" : : "r"(area + 90) : "xmm1", "memory");
  atomic_fetch_add((_Atomic int *)(area + 112), 4);
  int old = 77;
  __asm__ volatile("lock cmpxchgl %2, %1" : "+a"(old), "+m"(*(int *)(area + 116)) : "r"(5) : "memory");
  old = 6;
  __asm__ volatile("xchgl %0, %1" : "+r"(old), "+m"(*(int *)(area + 121)) : : "memory");
  __asm__ volatile("fldpi; fstpt %0" : "=m"(*(char (*)[10])(area + 130)) : : "memory");
  __asm__ volatile("movl %0, %%esi; pushq %%rsi; popq (%1)" : : "r"(old), "r"(area + 150) : "rsi", "memory");
  puts("end");
  return area[70];
}
"""
WAYS_SEEN = ["[64..69)", "[160..164)", "[70..75)", "[100..101)", "[97..113)", "[112..116)", "[116..120)", "[121..125)",
             "[130..140)", "[150..158)"]

# A thousand small ranges on the heap, one on a stack that comes and goes, calls of program functions that write.
MANY = r"""#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#define COUNT 1000
static long *cells[COUNT];
static long calls;
long bump(long *cell) { calls++; return ++*cell; }
rdb_begin_globals
static rdb_id ids[COUNT];
static long hits, sum, on_stack, left, in_callback;
static void hit(const struct rdb_event *e) {
  hits++;
  sum += *(const long *)e->new_bytes - *(const long *)e->old_bytes;
  long k = (long)e->data;
  if (!in_callback++) bump(cells[k]); /* undone, and nobody is told */
  if (k % 2) left += rdb_remove(ids[k]) == 0;
}
static void stack_hit(const struct rdb_event *e) { on_stack++; }
rdb_end_globals
__attribute__((noinline)) int frame(int n) {
  volatile int local = n;
  rdb_begin
    if (n == 3) rdb_on_write((const void *)&local, sizeof local, stack_hit, 0);
  rdb_end
  local += n;
  return local;
}
int main(void) {
  for (long i = 0; i < COUNT; i++) cells[i] = calloc(1, 48);
  rdb_begin
    for (long k = 0; k < COUNT; k++) ids[k] = rdb_on_write(cells[k], sizeof(long), hit, (void *)k);
  rdb_end
  for (int round = 0; round < 3; round++)
    for (int i = 0; i < COUNT; i++) { *cells[i] += i % 7; __asm__ volatile("" : : "r"(cells) : "memory"); }
  int total = 0;
  for (int i = 0; i < 10; i++) total += frame(i);
  rdb_begin
    printf("hits %ld, sum %ld, removed %ld, on stack %ld, calls %ld\n", hits, sum, left, on_stack, calls);
  rdb_end
  free(cells[0]);
  return total - 80;
}
"""

THREADS = r"""#include <rdb/rdb.h>
#include <pthread.h>
#include <stdio.h>
int shared;
rdb_begin_globals
static int first, starts, ends, mine, others, calls, returns;
static void started(const struct rdb_event *e) { starts += e->thread == first && e->number != first; }
static void ended(const struct rdb_event *e) { ends++; printf("end of another: %d\n", e->number == e->thread && e->thread != first); }
static void wrote(const struct rdb_event *e) { if (e->thread == first) mine++; else others++; }
static void entered(const struct rdb_event *e) { calls++; }
static void left(const struct rdb_event *e) { returns += e->result == 0 && e->thread == rdb_thread(); }
rdb_end_globals
static void *worker(void *count) { for (int i = 0; i < *(int *)count; i++) __atomic_add_fetch(&shared, 1, 0); return 0; }
int main(void) {
  rdb_begin
    first = rdb_thread();
    rdb_on_thread_start(started, 0);
    rdb_on_thread_end(ended, 0);
    rdb_on_write(&shared, sizeof shared, wrote, 0);
    rdb_on_call("worker", entered, 0);
    rdb_on_return("worker", left, 0);
  rdb_end
  pthread_t threads[3];
  int count = 50;
  shared = 1;
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, worker, &count);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  rdb_begin
    printf("starts %d ends %d mine %d others %d calls %d returns %d\n", starts, ends, mine, others, calls, returns);
  rdb_end
  return shared != 151;
}
"""

# A callback finds the variables of the thread that the event is of, whichever thread debug code ran in last.
THREAD_LOCALS = r"""#include <rdb/rdb.h>
#include <pthread.h>
#include <stdio.h>
_Thread_local int mine = 1;
_Thread_local long large[100];
pthread_barrier_t barrier;
rdb_begin_globals
static long sums[8], calls, wrong;
static void told(const struct rdb_event *e) {
  calls++;
  sums[e->arguments[0]] += mine;
  wrong += large[99] != 10 * (long)e->arguments[0];
}
static void ended(const struct rdb_event *e) { wrong += mine < 1; }
rdb_end_globals
__attribute__((noinline)) static void step(long number) {
  __asm__ volatile("" : : "r"(number) : "memory");
  mine++;
}
static void *worker(void *argument) {
  long number = (long)argument;
  large[99] = 10 * number;
  mine = 100 * (int)number;
  for (int i = 0; i < 3; i++) {
    pthread_barrier_wait(&barrier);
    step(number);
  }
  return 0;
}
int main(void) {
  rdb_begin
    rdb_on_call("step", told, 0);
    rdb_on_thread_end(ended, 0);
    printf("%d\n", mine);
  rdb_end
  pthread_barrier_init(&barrier, 0, 3);
  pthread_t threads[3];
  for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, worker, (void *)(i + 1));
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  step(0);
  rdb_begin
    printf("%ld %ld %ld %ld, %ld calls, %ld wrong\n", sums[0], sums[1], sums[2], sums[3], calls, wrong);
  rdb_end
  return mine != 2;
}
"""

# Classes, overloads and templates by the names that people write; lambdas for the rest.
CLASSES = r"""#include <rdb/rdb.h>
#include <cstdio>
#include <cstring>
#include <string>
namespace shop {
struct Till {
  int total = 0;
  __attribute__((noinline)) void add(int n) { total += n; }
  __attribute__((noinline)) void add(const char *text) { total += static_cast<int>(std::strlen(text)); }
};
template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }
}
shop::Till till;
rdb_begin_globals
static rdb_id once;
static struct Register {
  Register() {
    rdb::on_call("shop::Till::add(int)", [](const rdb_event &e) { std::printf("add int %d\n", (int)e.arguments[1]); });
    rdb::on_call("shop::Till::add(char const*)", [](const rdb_event &e) { std::printf("add %s\n", (const char *)e.arguments[1]); });
    rdb::on_return("*shop::twice<*>(*)", [](const rdb_event &e) { std::printf("twice %ld\n", e.result); });
    rdb::on_call("strle?", [](const rdb_event &) { std::printf("a strlen\n"); });
    rdb::on_syscall_before("exit_group", [](const rdb_event &e) { std::printf("exit_group(%lu)\n", e.arguments[0]); });
    rdb::on_exit([](const rdb_event &e) { std::printf("exit %ld\n", e.number); });
  }
} registers;
rdb_end_globals
int main() {
  rdb_begin
    once = rdb::on_access(till.total, [](const rdb_event &e) {
      std::printf("%s %d, removed %d\n", e.is_write ? "write" : "read", till.total, rdb_remove(once));
    });
    rdb::on_time(rdb_time() + 5, [](const rdb_event &e) { std::printf("five later %d\n", e.kind == RDB_TIME); });
  rdb_end
  till.add(3);
  till.add("four");
  std::printf("%d %ld\n", shop::twice(4), shop::twice(5l));
  return till.total;
}
"""

BAD = r"""#include <rdb/rdb.h>
#include <stdio.h>
int x;
rdb_begin_globals
static void never(const struct rdb_event *e) { printf("called\n"); }
rdb_end_globals
int main(void) {
  x = 1;
  rdb_begin
    printf("%lu", rdb_on_syscall("wrte", never, 0));
    printf(" %lu", rdb_on_syscall("9999", never, 0));
    printf(" %lu", rdb_on_write(&x, 0, never, 0));
    printf(" %lu", rdb_on_write(&x, ~0ul, never, 0));
    printf(" %lu", rdb_on_write(0, 4, never, 0));
    printf(" %lu", rdb_on_call_at((void *)8, never, 0));
    printf(" %lu", rdb_on_call(0, never, 0));
    printf(" %lu", rdb_on_time(1, never, 0));
    printf(" %lu", rdb_on_exit(0, 0));
    printf(" %d\n", rdb_remove(77));
    rdb_on_call("no_such_function", never, 0);
    char c;
    printf("%zu %zu\n", rdb_read((void *)8, &c, 1), rdb_read(&x, &c, 1));
  rdb_end
  x = 0;
  return x;
}
"""


@harness.needs_compiler
class EventKinds(harness.TestCase):
    def replay(self, name, source, status, *flags, options=()):
        self.write(name, source)
        compiler = harness.program("rdb-clang++" if name.endswith(".cc") else "rdb-clang")
        self.run_program([compiler, "-g", *flags, "-o", "prog", name], status=0)
        self.write("input", "abcdef")
        self.run_program(["/bin/rm", "-rf", self.path("trace")])
        self.run_program(["/bin/sh", "-c", f"{harness.rdb()} record --checksum=calls -q -o trace -- ./prog 3<input"], status=status)
        replayed = self.rdb("replay", *options, self.path("trace"))
        self.assertEqual(replayed.status, status, f"\n{replayed}")
        return replayed

    def test_both_sides_and_what_events_carry(self):
        for level in ("-O0", "-O1"):
            with self.subTest(level):
                replayed = self.replay("sides.c", SIDES, 3, level, "-fno-builtin")
                lines = [line for line in replayed.out.splitlines() if not line.startswith("time")]
                kept = [re.sub(r"= \d+, stack", "= N, stack", line) for line in lines if not line.startswith("before read")]
                self.assertEqual(kept, [
                    "syscall before 110(1, .., 3), stack same", "syscall after 110(1, .., 3) = N, stack same",
                    "before write 4 of 4, was 5, is 5, in memory 5, rip there", "after write 4 of 4, was 5, is 7, in memory 7, rip behind",
                    "before write 1 of 4, was 7, is 7, in memory 7, rip there", "after write 1 of 4, was 7, is 263, in memory 263, rip behind",
                    "before write 2 of 4, was 263, is 263, in memory 263, by a system call, rip behind",
                    "after write 2 of 4, was 263, is 25185, in memory 25185, by a system call, rip behind",
                    "call mean(3, 4, 2)", "return mean = 3.5", "call many(1, ..., 6, 7, 8), caller main at", "signal 10, seen 0",
                    "263 3.5 36 10", "exit 3, value 25185"])
                self.assertIn("before read 4 of 4, was 263, is 263, in memory 263, rip there", lines)
                self.assertEqual([line for line in replayed.out.splitlines() if line.startswith("time")],
                                 ["time +0, value 5", "time +20, value 5", "time +40, value 5"])

    def test_what_system_calls_read(self):
        replayed = self.replay("reads.c", READS, 0, "-O1")
        self.assertEqual(replayed.out.splitlines(), [line + ", by a system call" for line in READS_SEEN], replayed)

    def test_vectors_strings_atomics_and_unaligned(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                replayed = self.replay("ways.c", WAYS, 3, level)
                self.assertEqual(replayed.out.splitlines(), [place + " right" for place in WAYS_SEEN] + ["end"])

    def test_a_thousand_ranges_removal_and_stacks(self):
        for level in ("-O0",):
            with self.subTest(level):
                replayed = self.replay("many.c", MANY, 10, level)
                # Half of the ranges are removed at their first hit. The stack's place is written by later calls, too.
                even = 3 * sum(i % 7 for i in range(0, 1000, 2))
                odd = sum(i % 7 for i in range(1, 1000, 2))
                found = re.fullmatch(r"hits 2000, sum (\d+), removed 500, on stack (\d+), calls 0\n", replayed.out)
                self.assertTrue(found, replayed.out)
                self.assertEqual(int(found[1]), even + odd)
                self.assertGreaterEqual(int(found[2]), 10)

    def test_threads(self):
        replayed = self.replay("threads.c", THREADS, 0, "-O0", "-pthread")
        self.assertEqual(replayed.out, "end of another: 1\n" * 3 + "starts 3 ends 3 mine 1 others 150 calls 3 returns 3\n")

    def test_thread_local_variables_are_those_of_the_thread(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                replayed = self.replay("locals.c", THREAD_LOCALS, 0, level, "-pthread")
                self.assertEqual(replayed.out, "1\n1 303 603 903, 10 calls, 0 wrong\n", replayed.err)

    def test_classes_templates_and_lambdas(self):
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                replayed = self.replay("classes.cc", CLASSES, 7, level)
                lines = replayed.out.splitlines()
                self.assertIn("a strlen", lines)
                self.assertEqual([line for line in lines if line not in ("five later 1", "a strlen")],
                                 ["add int 3", "read 0, removed 0" if level == "-O0" else "write 3, removed 0", "add four", "twice 8",
                                  "twice 10", "8 10", "exit_group(7)", "exit 7"])
                self.assertIn("five later 1", lines)

    def test_mistakes_are_said_and_nothing_is_called(self):
        replayed = self.replay("bad.c", BAD, 0, "-O0")
        self.assertEqual(replayed.out, "0 0 0 0 0 0 0 0 0 -1\n0 1\n")
        for words in ("there is no system call 'wrte'", "there is no system call '9999'", "0 bytes at", "are not the program's memory",
                      "is no address of the program", "time 1 is over", "there is no callback",
                      "nothing in the recording is called no_such_function"):
            self.assertIn(words, replayed.err)


if __name__ == "__main__":
    harness.main()
