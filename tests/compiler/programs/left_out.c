// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What callers leave out because the function does not need it.
#include <rdb/rdb.h>
#include <stdio.h>
#include <string.h>

struct record {
  int number, other;
  char text[24];
};

// Nobody reads the copy: callers need not make it.
__attribute__((noinline)) int unread(struct record given, int n) {
  rdb_begin
    printf("unread %d %d\n", given.number, given.text[3]);
  rdb_end
  return n + 2;
}

__attribute__((noinline)) int read_in_part(struct record given, struct record second, int n) {
  rdb_begin
    printf("read in part %d %d %d\n", given.number, given.text[3], second.other);
  rdb_end
  return n + given.other;
}

int main(int argc, char** argv) {
  (void)argv;
  struct record own = {argc + 40, 2, "abcdefgh"};
  int n = unread(own, argc);
  own.number = 77;
  memset(own.text, 9, sizeof own.text);
  n += unread(own, argc);
  n += read_in_part(own, own, argc);
  printf("%d\n", n);
  return 0;
}
