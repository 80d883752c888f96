// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions with one region each, of which one is called in a loop; see bench/regions.
// clang-format off: a marker of a region stands alone on its line
#include <rdb/rdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long total;
__attribute__((noinline)) long square(long x) {
  total++;
  return x * x;
}
long (*chosen)(long) = square;

__attribute__((noinline)) static long bare(long i) {
  __asm__ volatile("");
  return i;
}

__attribute__((noinline)) static long empty(long i) {
  __asm__ volatile("");
  rdb_begin
    __asm__ volatile("");
  rdb_end
  return i;
}

__attribute__((noinline)) static long format(long i) {
  __asm__ volatile("");
  rdb_begin
    char text[32];
    snprintf(text, sizeof text, "%d", (int)i);
    __asm__ volatile("" : : "r"(text) : "memory");
  rdb_end
  return i;
}

__attribute__((noinline)) static long by_name(long i) {
  __asm__ volatile("");
  rdb_begin
    __asm__ volatile("" : : "r"(square(i)));
  rdb_end
  return i;
}

__attribute__((noinline)) static long by_pointer(long i) {
  __asm__ volatile("");
  rdb_begin
    __asm__ volatile("" : : "r"(chosen(i)));
  rdb_end
  return i;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    long (*function)(long);
  } kinds[] = {{"bare", bare}, {"empty", empty}, {"format", format}, {"by_name", by_name}, {"by_pointer", by_pointer}};
  if (argc < 3) return 2;
  long sum = 0;
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
    if (!strcmp(kinds[kind].name, argv[1]))
      for (long i = 0, hits = atol(argv[2]); i < hits; i++)
        sum += kinds[kind].function(i);
  return square(sum & 255) < 0;
}
