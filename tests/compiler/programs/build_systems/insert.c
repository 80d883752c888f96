#include "tree.h"
#include <stdlib.h>
struct node *insert(struct node *n, int key) {
  if (!n) {
    n = calloc(1, sizeof *n);
    n->key = key;
    rdb_begin
      __builtin_printf("new %d\n", n->key);
    rdb_end
    return n;
  }
  if (key < n->key) n->left = insert(n->left, key);
  if (key > n->key) n->right = insert(n->right, key);
  return depth(n) > 100 ? 0 : n;
}
