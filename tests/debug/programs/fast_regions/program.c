#include <errno.h>
#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
rdb_begin_globals
static long seen;
static int deep(volatile int n) { volatile char room[512]; room[n % 512] = 1; return deep(n + 1) + room[3]; }
rdb_end_globals
__thread long own = 7;
static char in[16][32], out[16][32];
static unsigned control_in = 0x5FA0, control_out;
static unsigned short word_in = 0xB7F, word_out;
static double pi_out;
static long flags_out;
#define EACH(do, set) do(0, set) do(1, set) do(2, set) do(3, set) do(4, set) do(5, set) do(6, set) do(7, set) do(8, set) \
  do(9, set) do(10, set) do(11, set) do(12, set) do(13, set) do(14, set) do(15, set)
#define LOAD(n, set) MOVE " " #n "*" SIZE "+%0, %%" REG #n ";"
#define STORE(n, set) MOVE " %%" REG #n ", " #n "*" SIZE "+%0;"
static long step(long i) {
  for (int k = 0; k < 16; k++) memset(in[k], (int)(i + k), WIDTH);
  memset(out, 0, sizeof out);
  errno = 5;
  asm volatile(EACH(LOAD, 1) : : "m"(in));
  asm volatile("ldmxcsr %0; fninit; fldcw %1; fldpi; push $0x8D5; popfq" : : "m"(control_in), "m"(word_in));
  rdb_begin
    WHAT;
  rdb_end
  asm volatile("pushfq; popq %0; stmxcsr %1; fstpl %2; fnstcw %3; fninit" : "=m"(flags_out), "=m"(control_out), "=m"(pi_out),
               "=m"(word_out));
  asm volatile(EACH(STORE, 0) : "=m"(out));
  control_out &= 0xFFFF;
  asm volatile("ldmxcsr %0" : : "m"((unsigned){0x1F80}));
  if (memcmp(in, out, sizeof in) || control_out != control_in || word_out != word_in || (flags_out & 0x8D5) != 0x8D5 ||
      pi_out < 3.14 || pi_out > 3.15 || errno != 5 || own != 7) {
    printf("changed at %ld: %x %x %lx %g %d %ld\n", i, control_out, word_out, flags_out, pi_out, errno, own);
    exit(1);
  }
  return i;
}
int main(void) {
  long sum = 0;
  for (long i = 0; i < ROUNDS; i++) sum += step(i);
  printf("sum %ld\n", sum);
  rdb_begin
    printf("seen %ld\n", seen);
  rdb_end
  return 0;
}
