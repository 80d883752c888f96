#include <rdb/rdb.h>
#include <cassert>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <pthread.h>
#include <search.h>
#include <stdexcept>
#include <string>
int total, place, way;
std::jmp_buf outside;
__attribute__((noinline)) void step(int i) { total += i; }
__attribute__((noinline)) void each(int n, void (*f)(int)) { total += n; f(n); total -= n; }
rdb_begin_globals
static int order(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
static void caught() { try { throw 7; } catch (int) {} }
struct Catcher { ~Catcher() { caught(); } };
static int deep(volatile int n) { volatile char room[512]; room[n % 512] = 1; return deep(n + 1) + room[3]; }
static void leaves(int n) {
  if (n != 2) return;
  WAY;
}
static void on_step(const rdb_event *e) { leaves((int)e->arguments[0]); }
rdb_end_globals
int main(int, char **words) {
  place = std::atoi(words[1]), way = std::atoi(words[2]);
  if (setjmp(outside)) return 9;
  rdb_begin
    if (place == 3) rdb_on_call("_Z4stepi", on_step, nullptr);
  rdb_end
  for (int i = 1; i < 4; i++) {
    step(i);
    rdb_begin
      std::printf("region %d\n", i);
      int n = i;
      if (place == 0 && n == 2) WAY;
      if (place == 1) leaves(i);
      if (place == 2) each(i, leaves);
      std::printf("end %d\n", i);
    rdb_end
    std::printf("program %d\n", i);
    std::fflush(stdout);
  }
  return total;
}
