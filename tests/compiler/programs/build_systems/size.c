#include "tree.h"
int size(const struct node *n) { return n ? 1 + size(n->left) + size(n->right) : depth(n); }
