// Static and global variables whose writes the optimiser delays, gathers or leaves out: at each region they have the value
// that the source says, or none.
#include <rdb/rdb.h>
#include <stdio.h>
static int seen, only_written;
int shared;
static int table[4];
__attribute__((noinline)) static int gathered(const int *values, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) {
    seen++;
    shared += values[i];
    sum += values[i];
    rdb_begin
      printf("turn %d: seen %d, shared %d\n", i, seen, shared);
    rdb_end
  }
  rdb_begin
    printf("after: seen %d, shared %d\n", seen, shared);
  rdb_end
  return sum;
}
__attribute__((noinline)) static void overwritten(int n) {
  shared = n;
  rdb_begin
    printf("first %d\n", shared);
  rdb_end
  shared = n + 1;
  rdb_begin
    printf("second %d\n", shared);
  rdb_end
}
__attribute__((noinline)) static void unread(int n) {
  only_written = n;
  rdb_begin
    printf("only written %d\n", only_written);
  rdb_end
}
__attribute__((noinline)) static int swapped(int i, int j) {
  int old = table[i];
  table[i] = table[j];
  rdb_begin
    printf("half swapped %d %d\n", table[i & 3], table[j & 3]);
  rdb_end
  table[j] = old;
  return table[i];
}
int main(void) {
  static const int values[] = {3, 1, 4, 1, 5};
  int sum = gathered(values, 5);
  overwritten(sum);
  unread(sum);
  for (int i = 0; i < 4; i++) table[i] = i * i;
  sum += swapped(1, 3);
  printf("%d %d %d\n", sum, seen, shared);
  return 0;
}
