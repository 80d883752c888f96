#include <rdb/rdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int value = 5;
char text[8];
int seen;
__attribute__((optnone, noinline)) double mean(double a, float b, int n) { return (a + b) / n; }
__attribute__((optnone, noinline)) long many(long a, long b, long c, long d, long e, long f, long g, long h) {
  return a + b + c + d + e + f + g + h;
}
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
