// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The orders of the day, handed out to whichever clerk asks next.
#pragma once

#include <stdbool.h>

enum kind { kDeposit, kPay };

struct order {
  int number; // its line in the file
  enum kind kind;
  int from, to; // accounts; a deposit comes from nowhere
  long amount;
};

// Reads them from a file: "deposit TO AMOUNT" or "pay FROM TO AMOUNT" a line. False if one is wrong; which
// was said on standard error. The accounts must be open.
bool orders_read(const char* path);
bool orders_next(struct order* order);
