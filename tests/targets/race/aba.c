// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A lock-free stack whose pop compares addresses only. Fails when a node that was popped and pushed again in
// between makes it take a stale successor.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

struct Node {
  struct Node* _Atomic next;
  atomic_int taken;
};

static struct Node nodes[3];
static struct Node* _Atomic top;
static volatile int failed;

static struct Node* pop(void) {
  for (;;) {
    struct Node* first = atomic_load(&top);
    if (first == NULL) return NULL;
    struct Node* second = atomic_load(&first->next);
    if (atomic_compare_exchange_strong(&top, &first, second)) {
      if (atomic_exchange(&first->taken, 1)) failed = 1; // two owners
      return first;
    }
  }
}

static void push(struct Node* node) {
  atomic_store(&node->taken, 0);
  struct Node* old = atomic_load(&top);
  do
    atomic_store(&node->next, old);
  while (!atomic_compare_exchange_weak(&top, &old, node));
}

static void* body(void* arg) {
  for (int i = 0; i < 40; ++i) {
    struct Node* a = pop();
    struct Node* b = pop();
    if (a != NULL) push(a);
    volatile int work = 0;
    for (int k = 0; k < 50; ++k)
      work = work + k;
    if (b != NULL) push(b);
  }
  return arg;
}

int main(void) {
  for (int i = 0; i < 3; ++i)
    push(&nodes[i]);
  pthread_t a, b;
  pthread_create(&a, NULL, body, NULL);
  pthread_create(&b, NULL, body, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  if (failed) printf("ABA: one node, two owners\n");
  return failed;
}
