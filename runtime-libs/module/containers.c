// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists and trees of debug code's own may have nodes in the program's memory: those of a container that was
// moved, spliced or merged. What the C++ library changes in them is undone.
#define _GNU_SOURCE
#include "runtime-libs/module/libc.h"

// std::__detail::_List_node_base
struct link {
  struct link *next, *previous;
};

static void keep_neighbours(struct link* node) {
  __rdb_keep(node, sizeof *node);
  __rdb_keep(node->next, sizeof *node);
  __rdb_keep(node->previous, sizeof *node);
}

// Under another name in C, with the library's in the object file.
#define LIBRARY(type, name, symbol, arguments)                                                               \
  type name arguments __asm__(symbol);                                                                       \
  type name arguments
#define NEXT(name, symbol)                                                                                   \
  static __typeof__(&name) real;                                                                             \
  if (real == 0) *(void**)&real = dlsym(RTLD_NEXT, symbol);

#define HOOK "_ZNSt8__detail15_List_node_base7_M_hookEPS0_"
LIBRARY(void, rdb_list_hook, HOOK, (struct link * node, struct link* before)) {
  NEXT(rdb_list_hook, HOOK)
  keep_neighbours(before);
  __rdb_keep(node, sizeof *node);
  real(node, before);
}
#define UNHOOK "_ZNSt8__detail15_List_node_base9_M_unhookEv"
LIBRARY(void, rdb_list_unhook, UNHOOK, (struct link * node)) {
  NEXT(rdb_list_unhook, UNHOOK)
  keep_neighbours(node);
  real(node);
}
#define TRANSFER "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_"
LIBRARY(void, rdb_list_transfer, TRANSFER, (struct link * before, struct link* first, struct link* last)) {
  NEXT(rdb_list_transfer, TRANSFER)
  keep_neighbours(before);
  keep_neighbours(first);
  keep_neighbours(last);
  real(before, first, last);
}
#define REVERSE "_ZNSt8__detail15_List_node_base10_M_reverseEv"
LIBRARY(void, rdb_list_reverse, REVERSE, (struct link * list)) {
  NEXT(rdb_list_reverse, REVERSE)
  struct link* node = list;
  do {
    __rdb_keep(node, sizeof *node);
    node = node->next;
  } while (node != list);
  real(list);
}
#define SWAP "_ZNSt8__detail15_List_node_base4swapERS0_S1_"
LIBRARY(void, rdb_list_swap, SWAP, (struct link * one, struct link* other)) {
  NEXT(rdb_list_swap, SWAP)
  keep_neighbours(one);
  keep_neighbours(other);
  real(one, other);
}

// std::_Rb_tree_node_base
struct node {
  int color;
  struct node *parent, *left, *right;
};

// Keeps a node and what is below it, so many levels deep.
static void keep_below(struct node* node, int levels) {
  if (node == 0) return;
  __rdb_keep(node, sizeof *node);
  if (levels == 0) return;
  keep_below(node->left, levels - 1);
  keep_below(node->right, levels - 1);
}

// Balancing goes up from a node, with what it rotates below its way.
static void keep_way_up(struct node* node, const struct node* header, int levels) {
  for (; node != header; node = node->parent)
    keep_below(node, levels);
}

#define INSERT "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_"
LIBRARY(void, rdb_tree_insert, INSERT,
        (_Bool is_left, struct node* node, struct node* parent, struct node* header)) {
  NEXT(rdb_tree_insert, INSERT)
  __rdb_keep(node, sizeof *node);
  keep_way_up(parent, header, 1);
  real(is_left, node, parent, header);
}
#define ERASE "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_"
LIBRARY(struct node*, rdb_tree_erase, ERASE, (struct node * node, struct node* header)) {
  NEXT(rdb_tree_erase, ERASE)
  struct node* lowest = node;
  if (node->left != 0 && node->right != 0)
    for (lowest = node->right; lowest->left != 0;)
      lowest = lowest->left;
  keep_way_up(lowest, header, 3);
  return real(node, header);
}
