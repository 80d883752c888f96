// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bank ACCOUNTS ORDERS: two clerks carry out the orders of a day; then the books are checked.
#include "account.h"
#include "journal.h"
#include "orders.h"
#include "report.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { kClerks = 2 };

static bool carry_out(const struct order* order) {
  if (order->kind == kPay) return account_transfer(order->from, order->to, order->amount);
  account_add(order->to, order->amount);
  return true;
}

static void* clerk(void* number) {
  struct order order;
  while (orders_next(&order)) {
    bool done = carry_out(&order);
    journal_add(&order, (int)(intptr_t)number, done);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: bank ACCOUNTS ORDERS\n");
    return 2;
  }
  if (!accounts_open(argv[1]) || !orders_read(argv[2])) return 2;
  setlinebuf(stdout);
  pthread_t clerks[kClerks];
  for (int i = 0; i < kClerks; i++)
    pthread_create(&clerks[i], NULL, clerk, (void*)(intptr_t)i);
  for (int i = 0; i < kClerks; i++)
    pthread_join(clerks[i], NULL);
  return report() ? 0 : 1;
}
