// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bank [ORDERS]: two clerks carry out the orders of a day; then the books are checked.
#include "account.h"
#include "orders.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kClerks = 2, kOpening = 100 };

static void* clerk(void* unused) {
  (void)unused;
  struct order order;
  while (orders_next(&order))
    account_transfer(order.from, order.to, order.amount);
  return NULL;
}

static void check_books(void) {
  long sum = 0;
  for (int i = 0; i < kAccounts; i++) {
    long balance = account_balance(i);
    sum += balance;
    if (balance < 0) {
      printf("account %d is overdrawn: %ld\n", i, balance);
      abort();
    }
  }
  printf("%d accounts, %ld in all\n", kAccounts, sum);
}

int main(int argc, char** argv) {
  setlinebuf(stdout);
  accounts_open(kOpening);
  orders_prepare(argc > 1 ? atoi(argv[1]) : 200, 7);
  pthread_t clerks[kClerks];
  for (int i = 0; i < kClerks; i++)
    pthread_create(&clerks[i], NULL, clerk, NULL);
  for (int i = 0; i < kClerks; i++)
    pthread_join(clerks[i], NULL);
  check_books();
  return 0;
}
