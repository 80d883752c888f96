// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "journal.h"

#include <pthread.h>

enum { kMaxEntries = 1000 }; // one for each order

static struct entry entries[kMaxEntries];
static int used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void journal_add(const struct order* order, int clerk, bool carried_out) {
  pthread_mutex_lock(&lock);
  entries[used++] = (struct entry){*order, clerk, carried_out};
  pthread_mutex_unlock(&lock);
}

int journal_count(bool carried_out) {
  int count = 0;
  for (int i = 0; i < used; i++)
    count += entries[i].carried_out == carried_out;
  return count;
}

static long change(const struct entry* entry, int account) {
  long change = 0;
  if (!entry->carried_out) return 0;
  if (entry->order.kind == kPay && entry->order.from == account) change -= entry->order.amount;
  if (entry->order.to == account) change += entry->order.amount;
  return change;
}

long journal_change(int account) {
  long sum = 0;
  for (int i = 0; i < used; i++)
    sum += change(&entries[i], account);
  return sum;
}
