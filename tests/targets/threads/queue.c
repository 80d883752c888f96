// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bounded lock-free queue of many writers and readers: each slot has a turn number. Prints the order in
// which things came out, which depends on the schedule alone; exits with 1 if anything was lost or came
// twice.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { kSlots = 8, kWriters = 2, kReaders = 2, kEach = 40 };

static struct {
  atomic_uint turn;
  unsigned value;
} slots[kSlots];
static atomic_uint head, tail;
static atomic_uint taken;
static unsigned char seen[kWriters * kEach];
static atomic_ulong order;

static int put(unsigned value) {
  unsigned at = atomic_load(&tail);
  for (;;) {
    unsigned turn = atomic_load(&slots[at % kSlots].turn);
    if (turn == at) {
      if (atomic_compare_exchange_weak(&tail, &at, at + 1)) break;
    } else if ((int)(turn - at) < 0) {
      return 0; // full
    } else {
      at = atomic_load(&tail);
    }
  }
  slots[at % kSlots].value = value;
  atomic_store(&slots[at % kSlots].turn, at + 1);
  return 1;
}

static int get(unsigned* value) {
  unsigned at = atomic_load(&head);
  for (;;) {
    unsigned turn = atomic_load(&slots[at % kSlots].turn);
    if (turn == at + 1) {
      if (atomic_compare_exchange_weak(&head, &at, at + 1)) break;
    } else if ((int)(turn - (at + 1)) < 0) {
      return 0; // empty
    } else {
      at = atomic_load(&head);
    }
  }
  *value = slots[at % kSlots].value;
  atomic_store(&slots[at % kSlots].turn, at + kSlots);
  return 1;
}

static void* writer(void* arg) {
  for (unsigned i = 0; i < kEach; ++i)
    while (!put((unsigned)(long)arg * kEach + i))
      ;
  return NULL;
}

static void* reader(void* arg) {
  unsigned value;
  while (atomic_load(&taken) < kWriters * kEach) {
    if (!get(&value)) continue;
    ++seen[value];
    atomic_store(&order, (atomic_load(&order) ^ value) * 1099511628211ul);
    atomic_fetch_add(&taken, 1);
  }
  return arg;
}

int main(void) {
  pthread_t threads[kWriters + kReaders];
  for (unsigned i = 0; i < kSlots; ++i)
    atomic_store(&slots[i].turn, i);
  for (long i = 0; i < kWriters + kReaders; ++i)
    pthread_create(&threads[i], NULL, i < kWriters ? writer : reader, (void*)i);
  for (int i = 0; i < kWriters + kReaders; ++i)
    pthread_join(threads[i], NULL);
  int wrong = 0;
  for (int i = 0; i < kWriters * kEach; ++i)
    wrong += seen[i] != 1;
  printf("%lx %d\n", atomic_load(&order), wrong);
  return wrong != 0;
}
