// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What became of each order, in the order in which the clerks were done.
#pragma once

#include "orders.h"

struct entry {
  struct order order;
  int clerk;
  bool carried_out; // or refused
};

void journal_add(const struct order* order, int clerk, bool carried_out);

// These are for the end of the day, when no clerk works any more.
int journal_count(bool carried_out);
long journal_change(int account); // of its balance, by all that was carried out
