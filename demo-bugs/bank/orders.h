// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The orders of the day, handed out to whoever asks next.
#pragma once

#include <stdbool.h>

struct order {
  int from, to;
  long amount;
};

void orders_prepare(int count, unsigned seed);
bool orders_next(struct order* order);
