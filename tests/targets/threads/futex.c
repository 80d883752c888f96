// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every operation of the futex system call, by itself, with the results that the kernel gives.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_uint word, other, lock_word, running;

static long futex(void* address, int operation, uint32_t value, const void* timeout, void* second,
                  uint32_t third) {
  long result = syscall(SYS_futex, address, operation, value, timeout, second, third);
  return result < 0 ? -errno : result;
}

static const char* name(long result) {
  static char text[4][32];
  static int next;
  char* place = text[next++ % 4];
  if (result < 0)
    snprintf(place, 32, "%s", strerrorname_np((int)-result));
  else
    snprintf(place, 32, "%ld", result);
  return place;
}

struct Wait {
  int operation;
  uint32_t bits;
  void* second;
  long result;
  pthread_t thread;
};

static void* waiting(void* arg) {
  struct Wait* wait = arg;
  atomic_fetch_add(&running, 1);
  wait->result = futex(&word, wait->operation, 0, NULL, wait->second, wait->bits);
  return NULL;
}

static void start(struct Wait* waits, int count) {
  atomic_store(&running, 0);
  for (int i = 0; i < count; ++i)
    pthread_create(&waits[i].thread, NULL, waiting, &waits[i]);
  while (atomic_load(&running) != (unsigned)count)
    usleep(100);
  usleep(20000); // all of them are asleep by now
}

static void finish(struct Wait* waits, int count) {
  for (int i = 0; i < count; ++i) {
    pthread_join(waits[i].thread, NULL);
    printf(" %s", name(waits[i].result));
  }
  printf("\n");
}

static void wakes(void) {
  struct Wait waits[5];
  for (int i = 0; i < 5; ++i)
    waits[i] = (struct Wait){.operation = FUTEX_WAIT_PRIVATE};
  start(waits, 5);
  long two = futex(&word, FUTEX_WAKE_PRIVATE, 2, NULL, NULL, 0);
  long rest = futex(&word, FUTEX_WAKE_PRIVATE, 100, NULL, NULL, 0);
  long none = futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  printf("wake %ld %ld %ld:", two, rest, none);
  finish(waits, 5);
}

static void bitsets(void) {
  struct Wait waits[3];
  for (int i = 0; i < 3; ++i)
    waits[i] = (struct Wait){.operation = FUTEX_WAIT_BITSET_PRIVATE, .bits = 1u << i};
  start(waits, 3);
  long third = futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 4);
  long none = futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 8);
  long bad = futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 0);
  long rest = futex(&word, FUTEX_WAKE_BITSET_PRIVATE, 9, NULL, NULL, 3);
  printf("bitset %ld %ld %s %ld:", third, none, name(bad), rest);
  finish(waits, 3);
}

static void requeues(void) {
  struct Wait waits[4];
  for (int i = 0; i < 4; ++i)
    waits[i] = (struct Wait){.operation = FUTEX_WAIT_PRIVATE};
  start(waits, 4);
  long wrong = futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void*)1, &other, 77);
  long moved = futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void*)2, &other, 0);
  long here = futex(&word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0);
  long there = futex(&other, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0);
  printf("requeue %s %ld %ld %ld:", name(wrong), moved, here, there);
  finish(waits, 4);
}

static void wake_op(void) {
  struct Wait waits[2];
  for (int i = 0; i < 2; ++i)
    waits[i] = (struct Wait){.operation = FUTEX_WAIT_PRIVATE};
  start(waits, 2);
  atomic_store(&other, 5);
  int add_if_5 = FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 5);
  long woken = futex(&word, FUTEX_WAKE_OP_PRIVATE, 9, (void*)9, &other, (uint32_t)add_if_5);
  int negative = FUTEX_OP(FUTEX_OP_SET, -1, FUTEX_OP_CMP_LT, 0);
  long none = futex(&word, FUTEX_WAKE_OP_PRIVATE, 9, (void*)9, &other, (uint32_t)negative);
  printf("wake_op %ld %ld %d:", woken, none, (int)atomic_load(&other));
  finish(waits, 2);
}

static void errors(void) {
  struct timespec soon = {0, 1000000}, bad = {0, -1}, past = {1, 0};
  atomic_store(&word, 1);
  printf("errors %s %s %s", name(futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0)),
         name(futex(&word, FUTEX_WAIT_PRIVATE, 1, &soon, NULL, 0)),
         name(futex(&word, FUTEX_WAIT_PRIVATE, 1, &bad, NULL, 0)));
  printf(" %s %s %s", name(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 1, &past, NULL, FUTEX_BITSET_MATCH_ANY)),
         name(futex(&word, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 1, &past, NULL, ~0u)),
         name(futex((char*)&word + 1, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0)));
  printf(" %s %s\n", name(futex((void*)16, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0)),
         name(futex(&word, FUTEX_WAIT_PRIVATE, 1, (void*)16, NULL, 0)));
  atomic_store(&word, 0);
}

static void* wants_lock(void* arg) {
  long result = futex(&lock_word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  unsigned mine = (atomic_load(&lock_word) & FUTEX_TID_MASK) == (unsigned)syscall(SYS_gettid);
  printf("got it: %s, mine %u\n", name(result), mine);
  fflush(stdout);
  futex(&lock_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  return arg;
}

static void* tries_lock(void* arg) {
  long tried = futex(&lock_word, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  long stolen = futex(&lock_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  struct timespec past = {1, 0};
  long late = futex(&lock_word, FUTEX_LOCK_PI_PRIVATE, 0, &past, NULL, 0);
  printf("try %s, unlock %s, late %s\n", name(tried), name(stolen), name(late));
  return arg;
}

static void locks(void) {
  long first = futex(&lock_word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  long again = futex(&lock_word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  printf("lock %s, again %s\n", name(first), name(again));
  fflush(stdout);
  pthread_t a, b;
  pthread_create(&a, NULL, tries_lock, NULL);
  pthread_join(a, NULL);
  pthread_create(&a, NULL, wants_lock, NULL);
  pthread_create(&b, NULL, wants_lock, NULL);
  while (!(atomic_load(&lock_word) & FUTEX_WAITERS))
    usleep(100);
  usleep(20000);
  futex(&lock_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  printf("free: %u\n", atomic_load(&lock_word));
}

static void* wants_requeued(void* arg) {
  atomic_fetch_add(&running, 1);
  long result = futex(&word, FUTEX_WAIT_REQUEUE_PI_PRIVATE, 0, NULL, &lock_word, 0);
  unsigned mine = (atomic_load(&lock_word) & FUTEX_TID_MASK) == (unsigned)syscall(SYS_gettid);
  printf("requeued: %s, mine %u\n", name(result), mine);
  fflush(stdout);
  if (atomic_load(&lock_word) & FUTEX_WAITERS)
    futex(&lock_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  else
    atomic_store(&lock_word, 0);
  return arg;
}

static void requeued_locks(void) {
  atomic_store(&word, 0);
  atomic_store(&running, 0);
  atomic_store(&lock_word, 0);
  futex(&lock_word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i)
    pthread_create(&threads[i], NULL, wants_requeued, NULL);
  while (atomic_load(&running) != 3)
    usleep(100);
  usleep(20000);
  printf("cmp_requeue_pi %s\n",
         name(futex(&word, FUTEX_CMP_REQUEUE_PI_PRIVATE, 1, (void*)10, &lock_word, 0)));
  fflush(stdout);
  futex(&lock_word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  for (int i = 0; i < 3; ++i)
    pthread_join(threads[i], NULL);
}

struct WaitvEntry {
  uint64_t value, address;
  uint32_t flags, reserved;
};

static void* waits_for_many(void* arg) {
  struct WaitvEntry entries[3] = {{0, (uint64_t)(uintptr_t)&word, 0x82, 0},
                                  {0, (uint64_t)(uintptr_t)&other, 0x82, 0},
                                  {0, (uint64_t)(uintptr_t)&lock_word, 0x82, 0}};
  atomic_fetch_add(&running, 1);
  long result = syscall(449, entries, 3, 0, NULL, CLOCK_MONOTONIC);
  printf("waitv %s\n", name(result < 0 ? -errno : result));
  fflush(stdout);
  entries[1].value = 5;
  result = syscall(449, entries, 3, 0, NULL, CLOCK_MONOTONIC);
  printf("waitv, another value: %s\n", name(result < 0 ? -errno : result));
  return arg;
}

static void vectors(void) {
  atomic_store(&word, 0);
  atomic_store(&other, 0);
  atomic_store(&lock_word, 0);
  atomic_store(&running, 0);
  pthread_t a;
  pthread_create(&a, NULL, waits_for_many, NULL);
  while (!atomic_load(&running))
    usleep(100);
  usleep(20000);
  futex(&other, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  pthread_join(a, NULL);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  wakes();
  bitsets();
  requeues();
  wake_op();
  errors();
  locks();
  requeued_locks();
  vectors();
  return 0;
}
