#include <rdb/rdb.h>
#include <stdio.h>
static int calls;
static const int squares[4] = {0, 1, 4, 9};
static _Thread_local long per_thread;
static int first(int a) {
  static int last;
  last += a;
  calls++;
  rdb_begin
  printf("first %d %d\n", a, last);
  rdb_end
  return last;
}
static int second(int a) {
  static int last;
  {
    static int last = 100;
    last += a;
    per_thread += last;
  }
  last += squares[a & 3];
  char text[a + 1];
  text[0] = (char)(a + 'a');
  rdb_begin
  printf("second %c %d\n", text[0], last);
  rdb_end
  return last + (int)per_thread + text[0];
}
static int shared(int a) {
  int sum = 0;
  for (int i = 0; i < a; ++i) {
    rdb_begin
    int seen = sum;
    rdb_end
    sum += first(i);
    rdb_begin
    printf("shared %d %d\n", seen, sum);
    rdb_end
  }
  return sum;
}
int apply(int (*function)(int), int a) { return function(a); }
int same(int a) { return a + 5; }
int equal(int a) { return a + 5; }
int __attribute__((noinline)) dead(int a, int unused) {
  (void)unused;
  return a + calls;
}
int __attribute__((noinline)) later(double a, __int128 unused, int b) {
  (void)unused;
  return (int)a + b + calls;
}
static int __attribute__((noinline)) no_result(int a) {
  calls += a;
  return a * 3;
}
static int __attribute__((noinline)) fewer(int a, int unused) {
  (void)unused;
  return a + calls;
}
int main(int argc, char **argv) {
  static void *const labels[] = {&&one, &&two};
  int result = fewer(argc, 2) + dead(argc, 7) + same(1) + equal(2) + shared(3) + later(1, argc, 2);
  goto *labels[argc & 1];
one:
  result += 1000;
two:
  no_result(argc);
  printf("%d %d %s\n", result, apply(second, 2), argv[0] != NULL ? "end" : "");
  return 0;
}
