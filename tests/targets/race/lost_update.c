// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads add to a balance without a lock, now and then. Fails when an update is lost.
#include <pthread.h>
#include <stdio.h>

static volatile long balance;

static void* deposits(void* arg) {
  volatile unsigned long work = 1;
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 200; ++k)
      work = work * 6364136223846793005ul + 1;
    balance = balance + 10;
  }
  return arg;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, deposits, NULL);
  pthread_create(&b, NULL, deposits, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  if (balance != 400) printf("lost update: %ld\n", balance);
  return balance != 400;
}
