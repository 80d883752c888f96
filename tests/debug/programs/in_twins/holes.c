// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions whose callers know them: values that nobody needs are old or missing at their entry, an entry is not
// always a call, and a call in the source is not always one in the program.
#include <rdb/rdb.h>
#include <stdio.h>

static int seen;
static int table[64];

// The caller need not have written `seen` yet.
__attribute__((noinline)) static void stale(int i) {
  rdb_begin
    printf("r stale %d %d\n", i, seen);
  rdb_end
  table[i & 63] ^= i * 7;
}

__attribute__((noinline)) static int stale_loop(int n) {
  for (int i = 0; i < n; i++) {
    seen++;
    stale(i);
  }
  return seen;
}

struct Three {
  int a, b, c;
};

// Of the members, the caller need write one alone.
__attribute__((noinline)) static int one_member(struct Three *t) {
  rdb_begin
    printf("r one_member %d %d %d\n", t->a, t->b, t->c);
  rdb_end
  return t->a * 3;
}

__attribute__((noinline)) static int members(int x) {
  struct Three t = {x, x + 1, x + 2};
  return one_member(&t) + x;
}

// Nothing is passed for `level`.
__attribute__((noinline)) static int dead_argument(int a, int level) {
  rdb_begin
    printf("r dead_argument %d %d\n", a, level);
  rdb_end
  return a * 3;
}

// All that a region shows here is passed.
__attribute__((noinline)) static int plain(int a, int b) {
  int sum = a;
  for (int i = 0; i < b; i++) {
    int twice = 2 * i;
    sum += twice;
    rdb_begin
      printf("r plain %d %d %d\n", i, twice, sum);
    rdb_end
  }
  return sum;
}

struct List {
  struct List *next;
  int value;
};

// The loop may lead to the first instruction.
__attribute__((noinline)) static void walk(struct List *list) {
  do {
    list->value++;
    rdb_begin
      printf("r walk %d\n", list->value);
    rdb_end
    list = list->next;
  } while (list);
}

// One call serves for two.
__attribute__((noinline)) static int pure(int x) {
  int sum = 0;
  for (int i = 0; i < x; i++)
    sum += (i * i) ^ x;
  rdb_begin
    printf("r pure %d %d\n", x, sum);
  rdb_end
  return sum;
}

// A loop in the program.
__attribute__((noinline)) static int tail(const char *text, int n) {
  rdb_begin
    printf("r tail %d\n", n);
  rdb_end
  if (!*text) return n;
  return tail(text + 1, n * 31 + *text);
}

// Two functions of one code.
__attribute__((noinline)) static int same_a(int *p, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += p[i] * 3 + 1;
  rdb_begin
    printf("r same_a %d %d\n", n, sum);
  rdb_end
  return sum;
}

__attribute__((noinline)) static int same_b(int *q, int m) {
  int total = 0;
  for (int j = 0; j < m; j++)
    total += q[j] * 3 + 1;
  rdb_begin
    printf("r same_b %d %d\n", m, total);
  rdb_end
  return total;
}

int main(int argc, char **argv) {
  (void)argv;
  int values[9] = {argc, 2, 3};
  struct List second = {NULL, 5}, first = {&second, 3};
  printf("%d %d\n", stale_loop(argc + 9), members(argc));
  printf("%d\n", dead_argument(argc, 42) + dead_argument(argc + 1, 43));
  printf("%d\n", plain(argc, 3) + plain(2, argc));
  walk(&first);
  printf("%d %d\n", pure(argc * 7), pure(argc * 7));
  printf("%d\n", tail("twins", argc));
  printf("%d %d\n", same_a(values, 9), same_b(values + 1, 7));
  return 0;
}
