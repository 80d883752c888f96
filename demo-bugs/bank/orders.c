// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "orders.h"

#include "account.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int left;
static unsigned state;

static unsigned draw(unsigned below) {
  state = state * 1103515245u + 12345u;
  return (state >> 16) % below;
}

void orders_prepare(int count, unsigned seed) {
  left = count;
  state = seed;
}

bool orders_next(struct order* order) {
  pthread_mutex_lock(&lock);
  bool any = left > 0;
  if (any) {
    left--;
    order->from = (int)draw(kAccounts);
    order->to = (int)draw(kAccounts);
    order->amount = 1 + (long)draw(100);
  }
  pthread_mutex_unlock(&lock);
  return any;
}
