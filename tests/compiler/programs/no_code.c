// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions beside statements that come to nothing even without optimisation, and ones that are left without code in their block.
#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>

struct Three {
  unsigned char bytes[3];
} three = {{1, 2, 3}};
struct Long {
  unsigned long words[3];
} longs = {{7, 8, 9}};
volatile unsigned last;

// A call without code between two regions, at both ends of a block and alone in it.
static void moved_to_itself(int n) {
  rdb_begin
    printf("in front of nothing: %d\n", n);
  rdb_end
  memmove(&three, &three, 3);
  rdb_begin
    printf("behind it: %d\n", n);
  rdb_end
  for (int i = 0; i < n; i++) {
    rdb_begin
      printf("turn %d\n", i);
    rdb_end
    memmove(&three, &three, 3);
  }
  if (n > 1) {
    n;
    rdb_begin
      printf("alone with nothing: %d\n", n);
    rdb_end
    memmove(&three, &three, 3);
  }
  three.bytes[1]++;
}

static inline __attribute__((always_inline)) int either(int n) {
  rdb_begin
    printf("either: %d\n", n);
  rdb_end
  if (n & 1) return three.bytes[0];
  rdb_begin
    printf("even: %d\n", n);
  rdb_end
  memmove(&three, &three, 3);
  return n;
}

// Two ways lead to a block whose only code is a region, and it goes on where others come from.
static int behind_two_ways(int n) {
  if (n) {
    either(n);
    rdb_begin
      printf("behind two ways: %d\n", n);
    rdb_end
  }
  rdb_begin
    printf("with others: %d\n", n);
  rdb_end
  return n + last;
}

// The block is left to the thorough half of instruction selection, which puts a load ahead of others.
static unsigned thorough(int depth, struct Long given) {
  last = __builtin_bswap32((unsigned)given.words[2] << (depth & 31));
  rdb_begin
    printf("thorough: %d %u\n", depth, last);
  rdb_end
  return ((unsigned)given.words[0] << (_Bool)three.bytes[1]) % (((double)(unsigned)given.words[2] >= 1e9) | 1);
}

int main(void) {
  for (int i = 0; i < 4; i++) {
    moved_to_itself(i);
    printf("%d\n", behind_two_ways(i));
    printf("%u\n", thorough(i, longs));
  }
  return 0;
}
