// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A node is read after another function has freed it.
#include <stdlib.h>

struct node {
  int value;
  struct node* next;
};

static void drop(struct node* node) {
  free(node);
}

int main(void) {
  struct node* node = malloc(sizeof *node);
  node->value = 3;
  node->next = NULL;
  drop(node);
  return node->value;
}
