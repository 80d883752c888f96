// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of every shape, from a function of another unit's (qsort, or through a pointer), so that all that is passed
// is there: structures by value, floating point, varargs, statics, recursion, setjmp, variable length, inlining.
#include <rdb/rdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Point {
  double x, y;
};
struct Mixed {
  int number;
  double value;
};
struct Large {
  long words[5];
};

static int calls;

static struct Point moved(struct Point p, double by) {
  struct Point result = {p.x + by, p.y - by};
  rdb_begin
    printf("r moved %g %g %g\n", by, result.x, result.y);
  rdb_end
  return result;
}

static struct Mixed mixed(int n, double v) {
  struct Mixed m = {n * 2, v / 3};
  rdb_begin
    printf("r mixed %d %g\n", m.number, m.value);
  rdb_end
  return m;
}

static struct Large large(long begin) {
  struct Large result;
  for (int i = 0; i < 5; i++) {
    long word = begin + i * i;
    result.words[i] = word;
    rdb_begin
      printf("r large %d %ld\n", i, word);
    rdb_end
  }
  return result;
}

static long double extended(long double a, int n) {
  long double result = 1;
  for (int i = 0; i < n; i++)
    result *= a;
  rdb_begin
    printf("r extended %Lg %d\n", result, n);
  rdb_end
  return result;
}

static int sum_of(int count, ...) {
  va_list list;
  va_start(list, count);
  int sum = 0;
  for (int i = 0; i < count; i++) {
    int next = va_arg(list, int);
    sum += next;
    rdb_begin
      printf("r sum_of %d %d\n", next, sum);
    rdb_end
  }
  va_end(list);
  return sum;
}

static int counted(int by) {
  static int count;
  count += by;
  calls++;
  rdb_begin
    printf("r counted %d %d %d\n", by, count, calls);
  rdb_end
  return count;
}

static int factorial(int n) {
  int result = n < 2 ? 1 : n * factorial(n - 1);
  rdb_begin
    printf("r factorial %d %d\n", n, result);
  rdb_end
  return result;
}

static jmp_buf way_out;

static int jumper(int n) {
  volatile int depth = 0;
  if (setjmp(way_out) != 0) {
    rdb_begin
      printf("r jumped %d\n", depth);
    rdb_end
    return depth;
  }
  depth = n;
  if (n > 2) longjmp(way_out, 1);
  return n;
}

static int variable(int n) {
  int squares[n];
  int sum = 0;
  for (int i = 0; i < n; i++)
    squares[i] = i * i;
  for (int i = 0; i < n; i++)
    sum += squares[i];
  rdb_begin
    printf("r variable %d %d %d\n", n, sum, squares[n - 1]);
  rdb_end
  return sum;
}

static inline int inlined(int x) {
  int y = x * 5;
  rdb_begin
    printf("r inlined %d %d\n", x, y);
  rdb_end
  return y + 1;
}

static int around(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += inlined(i);
  rdb_begin
    printf("r around %d %d\n", n, sum);
  rdb_end
  return sum;
}

static int kept_between(int n) {
  int result = 0;
#ifdef RDB_INLINE // each region is a block then
  int total = 0;
#endif
  rdb_begin
#ifndef RDB_INLINE
    int total = 0;
#endif
  rdb_end
  for (int i = 0; i < n; i++) {
    result ^= i * 3;
    rdb_begin
      total += result;
      printf("r kept_between %d %d\n", i, total);
    rdb_end
  }
  return result;
}

static int opcodes(const char *program) {
  static const void *const labels[] = {&&add, &&twice, &&done};
  int value = 1;
  goto *labels[*program++ - 'a'];
add:
  value += 3;
  rdb_begin
    printf("r add %d\n", value);
  rdb_end
  goto *labels[*program++ - 'a'];
twice:
  value *= 2;
  rdb_begin
    printf("r twice %d\n", value);
  rdb_end
  goto *labels[*program++ - 'a'];
done:
  return value;
}

static char *joined(const char *a, const char *b) {
  size_t size = strlen(a) + strlen(b) + 1;
  char *text = malloc(size);
  strcpy(text, a);
  strcat(text, b);
  rdb_begin
    printf("r joined %s %zu\n", text, size);
  rdb_end
  return text;
}

static int by_value(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  int order = (x > y) - (x < y);
  rdb_begin
    printf("r by_value %d %d %d\n", x, y, order);
  rdb_end
  return order;
}

// What calls a function through this knows nothing of it.
struct Functions {
  struct Point (*moved)(struct Point, double);
  struct Mixed (*mixed)(int, double);
  struct Large (*large)(long);
  long double (*extended)(long double, int);
  int (*sum_of)(int, ...);
  int (*counted)(int);
  int (*factorial)(int);
  int (*jumper)(int);
  int (*variable)(int);
  int (*around)(int);
  int (*kept_between)(int);
  int (*opcodes)(const char *);
  char *(*joined)(const char *, const char *);
};

struct Functions volatile functions = {moved,   mixed,    large,  extended,     sum_of,  counted, factorial,
                                       jumper,  variable, around, kept_between, opcodes, joined};

int main(int argc, char **argv) {
  (void)argv;
  struct Point p = functions.moved((struct Point){1, 2}, 0.5 * argc);
  struct Mixed m = functions.mixed(argc, 7);
  struct Large l = functions.large(argc);
  printf("%g %g %d %g %ld\n", p.x, p.y, m.number, m.value, l.words[4]);
  printf("%Lg %d\n", functions.extended(1.5L, 4), functions.sum_of(3, argc, 20, 30));
  int last = 0;
  for (int i = 0; i < 3; i++)
    last = functions.counted(i);
  printf("%d %d\n", last, functions.factorial(4));
  printf("%d %d\n", functions.jumper(2), functions.jumper(3));
  printf("%d %d %d\n", functions.variable(4), functions.around(3), functions.kept_between(3));
  printf("%d\n", functions.opcodes("abac"));
  char *text = functions.joined("tw", "ins");
  printf("%s\n", text);
  free(text);
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof numbers[0], by_value);
  printf("%d %d %d\n", numbers[0], numbers[1], numbers[2]);
  return 0;
}
