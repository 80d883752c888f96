// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.h"

#include "account.h"
#include "journal.h"

#include <stdio.h>

static bool check(int account) {
  long balance = account_balance(account);
  long expected = account_opening(account) + journal_change(account);
  if (balance != expected)
    printf("%s has %ld, and should have %ld\n", account_name(account), balance, expected);
  return balance == expected;
}

bool report(void) {
  long sum = 0;
  bool good = true;
  printf("account        opening  closing\n");
  for (int i = 0; i < accounts_count(); i++) {
    long balance = account_balance(i);
    printf("%-12s %9ld %8ld\n", account_name(i), account_opening(i), balance);
    sum += balance;
  }
  printf("%ld in all; %d orders carried out, %d refused\n", sum, journal_count(true), journal_count(false));
  for (int i = 0; i < accounts_count(); i++)
    good &= check(i);
  return good;
}
