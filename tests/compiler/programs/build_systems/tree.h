#include <rdb/rdb.h>
struct node { int key; struct node *left, *right; };
struct node *insert(struct node *, int);
int size(const struct node *);
static inline int depth(const struct node *n) {
  if (!n) return 0;
  int l = depth(n->left), r = depth(n->right);
  rdb_begin
    __builtin_printf("key %d depth %d\n", n->key, l > r ? l : r);
  rdb_end
  return 1 + (l > r ? l : r);
}
