// A function of the program calls back into debug code.
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
