// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "account.h"

#include <pthread.h>

struct account {
  pthread_mutex_t lock;
  long balance;
};

static struct account accounts[kAccounts];

void accounts_open(long each) {
  for (int i = 0; i < kAccounts; i++) {
    pthread_mutex_init(&accounts[i].lock, NULL);
    accounts[i].balance = each;
  }
}

long account_balance(int account) {
  struct account* a = &accounts[account];
  pthread_mutex_lock(&a->lock);
  long balance = a->balance;
  pthread_mutex_unlock(&a->lock);
  return balance;
}

void account_add(int account, long amount) {
  struct account* a = &accounts[account];
  pthread_mutex_lock(&a->lock);
  a->balance += amount;
  pthread_mutex_unlock(&a->lock);
}

bool account_transfer(int from, int to, long amount) {
  if (account_balance(from) < amount) return false;
  account_add(from, -amount);
  account_add(to, amount);
  return true;
}
