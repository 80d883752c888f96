// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots for requests, taken and given back without ever asking for memory.
#pragma once

#include <stdbool.h>

enum { kSlots = 16 };

struct slot {
  struct slot* next; // in the list of free ones
  bool waiting;      // for a reply
  int backend;       // from this one
  long number;       // of the request; a slot sees many
  long begin;        // when it was sent, in ticks
  long deadline;
};

void pool_start(void);
struct slot* pool_take(void); // null if there is none
void pool_give(struct slot* slot);
int pool_free(void);                // how many are free
struct slot* pool_slot(int number); // 0 to kSlots - 1
