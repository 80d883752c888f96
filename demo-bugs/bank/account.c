// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "account.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct account {
  pthread_mutex_t lock;
  long balance;
  long opening;
  char name[kMaxName];
};

static struct account accounts[kMaxAccounts];
static int count;

bool accounts_open(const char* path) {
  FILE* file = fopen(path, "r");
  if (!file) {
    perror(path);
    return false;
  }
  char name[kMaxName];
  long balance;
  bool good = true;
  while (good && fscanf(file, "%15s %ld", name, &balance) == 2) {
    good = count < kMaxAccounts && balance >= 0 && account_find(name) < 0;
    if (!good) {
      fprintf(stderr, "%s: account %s cannot be opened\n", path, name);
      break;
    }
    struct account* a = &accounts[count++];
    pthread_mutex_init(&a->lock, NULL);
    a->balance = a->opening = balance;
    strcpy(a->name, name);
  }
  fclose(file);
  return good;
}

int accounts_count(void) {
  return count;
}

int account_find(const char* name) {
  for (int i = 0; i < count; i++)
    if (strcmp(accounts[i].name, name) == 0) return i;
  return -1;
}

const char* account_name(int account) {
  return accounts[account].name;
}

long account_opening(int account) {
  return accounts[account].opening;
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
  if (a->balance < 0) {
    // Better no bank than one with wrong books.
    printf("%s is overdrawn: %ld\n", a->name, a->balance);
    abort();
  }
  pthread_mutex_unlock(&a->lock);
}

bool account_transfer(int from, int to, long amount) {
  if (account_balance(from) < amount) return false;
  account_add(from, -amount);
  account_add(to, amount);
  return true;
}
