// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pool.h"

#include <stddef.h>

static struct slot slots[kSlots];
static struct slot* free_slots;

void pool_start(void) {
  for (int i = 0; i < kSlots; i++)
    pool_give(&slots[i]);
}

struct slot* pool_slot(int number) {
  return &slots[number];
}

struct slot* pool_take(void) {
  struct slot* slot = free_slots;
  if (slot) free_slots = slot->next;
  return slot;
}

void pool_give(struct slot* slot) {
  slot->next = free_slots;
  free_slots = slot;
}

int pool_free(void) {
  int count = 0;
  for (struct slot* slot = free_slots; slot && count <= kSlots; slot = slot->next)
    count++;
  return count;
}
