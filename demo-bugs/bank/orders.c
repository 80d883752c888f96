// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "orders.h"

#include "account.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { kMaxOrders = 1000 };

static struct order orders[kMaxOrders];
static int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next; // under the lock

static bool parse(const char* line, struct order* order) {
  char from[kMaxName] = "", to[kMaxName];
  if (sscanf(line, "deposit %15s %ld", to, &order->amount) == 2) {
    order->kind = kDeposit;
  } else if (sscanf(line, "pay %15s %15s %ld", from, to, &order->amount) == 3) {
    order->kind = kPay;
  } else {
    return false;
  }
  order->from = account_find(from);
  order->to = account_find(to);
  return order->amount > 0 && order->to >= 0 && (order->kind == kDeposit || order->from >= 0);
}

bool orders_read(const char* path) {
  FILE* file = fopen(path, "r");
  if (!file) {
    perror(path);
    return false;
  }
  char line[128];
  bool good = true;
  for (int number = 1; good && fgets(line, sizeof line, file); number++) {
    struct order* order = &orders[count];
    good = count < kMaxOrders && parse(line, order);
    if (!good) {
      fprintf(stderr, "%s:%d: not an order that can be carried out: %s", path, number, line);
      break;
    }
    order->number = number;
    count++;
  }
  fclose(file);
  return good;
}

bool orders_next(struct order* order) {
  pthread_mutex_lock(&lock);
  bool any = next < count;
  if (any) *order = orders[next++];
  pthread_mutex_unlock(&lock);
  return any;
}
