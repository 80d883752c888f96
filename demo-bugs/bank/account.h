// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The accounts of a small bank. Once they are opened, every function here is safe to call from any thread.
#pragma once

#include <stdbool.h>

enum { kMaxAccounts = 32, kMaxName = 16 };

// Reads the accounts from a file, "NAME BALANCE" a line. False if that is not possible; why was said on
// standard error.
bool accounts_open(const char* path);
int accounts_count(void);
int account_find(const char* name); // -1: there is none
const char* account_name(int account);
long account_opening(int account); // the balance with which it was opened

long account_balance(int account);
void account_add(int account, long amount);

// Moves money if there is enough of it. Returns whether it did.
bool account_transfer(int from, int to, long amount);
