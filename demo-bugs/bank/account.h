// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The accounts of a small bank. Every function here is safe to call from any thread.
#pragma once

#include <stdbool.h>

enum { kAccounts = 8 };

void accounts_open(long each);
long account_balance(int account);
void account_add(int account, long amount);

// Moves money if there is enough of it. Returns whether it did.
bool account_transfer(int from, int to, long amount);
