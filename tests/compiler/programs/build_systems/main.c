#include <rdb/rdb.h>
#include <stdio.h>
#include "tree.h"
int shared_scale(int);
int main(int argc, char **argv) {
  (void)argv;
  struct node *root = 0;
  for (int i = 0; i < 5; i++) {
    root = insert(root, i * 7 % 5 + argc);
    rdb_begin
      printf("inserted, size %d\n", size(root));
    rdb_end
  }
  printf("%d %d\n", size(root), shared_scale(3));
  return 0;
}
