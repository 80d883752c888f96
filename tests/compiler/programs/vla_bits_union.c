// Variable length arrays, bit fields, unions, nested structures.
#include <rdb/rdb.h>
#include <stdio.h>
struct flags {
  unsigned a : 3, b : 5, c : 24;
};
union word {
  unsigned number;
  unsigned char bytes[4];
};
struct outer {
  struct flags flags;
  struct {
    union word word;
    double weight;
  } inner[2];
};
static int fill(int n) {
  int squares[n];
  for (int i = 0; i < n; i++) squares[i] = i * i;
  rdb_begin
    for (int i = 0; i < n; i++) printf("%d ", squares[i]);
    printf("\n");
  rdb_end
  return squares[n - 1];
}
// The size of its rows is nowhere but in n.
static int corner(int n, int grid[n][n + 1]) {
  short pairs[n][2];
  pairs[n - 1][1] = (short)n;
  rdb_begin
    printf("row %zu, corner %d, pairs %zu\n", sizeof grid[0], grid[n - 1][n], sizeof pairs);
  rdb_end
  return grid[n - 1][n] + pairs[n - 1][1];
}
int main(int argc, char **argv) {
  (void)argv;
  struct outer o = {{1, 2, 3}, {{{0x01020304}, 1.5}, {{5}, 2.5}}};
  o.flags.b += argc;
  o.inner[1].word.number = fill(argc + 4);
  rdb_begin
    printf("a=%u b=%u byte=%u weight=%g\n", o.flags.a, o.flags.b, o.inner[0].word.bytes[1], o.inner[1].weight);
  rdb_end
  int grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
  printf("%d\n", corner(argc + 1, grid));
  printf("%u %g\n", o.inner[1].word.number, o.inner[0].weight);
  return 0;
}
