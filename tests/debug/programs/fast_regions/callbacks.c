#include <pthread.h>
#include <rdb/rdb.h>
#include <setjmp.h>
#include <stdio.h>
rdb_begin_globals
static volatile long calls, arguments, returns, results, times;
static void on_call(const struct rdb_event* e) {
  calls++;
  arguments += e->arguments[0] * 3 + e->function[0] + e->registers->gs_base;
  MORE;
}
static void on_return(const struct rdb_event* e) { returns++; results += e->result * 5 + e->function[0]; MORE; }
rdb_end_globals
static __thread jmp_buf place;
__attribute__((noinline)) long leaf(long n) { asm volatile("" : "+r"(n)); return n + 1; }
__attribute__((noinline)) long deep(long n) { return n == 0 ? leaf(7) : deep(n - 1) + leaf(n); }
__attribute__((noinline)) long jumps(long n) { if (n % 3 == 0) longjmp(place, 1); return n; }
__attribute__((noinline)) long outer(long n) { asm volatile("wrgsbase %0" : "+r"(n)); return leaf(n + 2); }
static void* work(void* argument) {
  volatile long sum = 0;
  for (volatile long i = 0; i < 300; i++) {
    if (setjmp(place) == 0) sum += jumps(i);
    sum += deep(i % 9) + outer(i);
  }
  *(long*)argument = sum;
  return 0;
}
int main(void) {
  long sums[3];
  pthread_t threads[2];
  rdb_begin
    for (const char* const* name = (const char* const[]){"leaf", "deep", "jumps", "outer", 0}; *name; name++) {
      rdb_on_call(*name, on_call, 0);
      rdb_on_return(*name, on_return, 0);
    }
  rdb_end
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, &sums[i]);
  work(&sums[2]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  printf("sums %ld %ld %ld\n", sums[0], sums[1], sums[2]);
  rdb_begin
    printf("%ld %ld %ld %ld\n", calls, arguments, returns, results);
  rdb_end
  return 0;
}
