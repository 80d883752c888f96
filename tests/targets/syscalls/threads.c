// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads and the calls under them: futexes of several kinds, thread ids, ends of threads, memory barriers.
#include "report.h"

#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { kThreads = 4, kRounds = 500 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static long sum;
static int turn;
static __thread int mine;

static long futex(void* word, int op, unsigned value, const struct timespec* timeout, void* other,
                  unsigned third) {
  return syscall(SYS_futex, word, op, value, timeout, other, third);
}

static void* add(void* argument) {
  mine = (int)(intptr_t)argument;
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < kRounds; ++i) {
    pthread_mutex_lock(&mutex);
    sum += mine;
    pthread_mutex_unlock(&mutex);
    if (i % 100 == 0) sched_yield();
  }
  sem_wait(&semaphore);
  return (void*)(intptr_t)(gettid() != getpid());
}

// The threads speak in turn, whatever order they run in.
static void* speak(void* argument) {
  int me = (int)(intptr_t)argument;
  pthread_mutex_lock(&mutex);
  while (turn != me)
    pthread_cond_wait(&condition, &mutex);
  fact("thread %d speaks", me);
  ++turn;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void together(void) {
  pthread_t threads[kThreads];
  MUST(pthread_barrier_init(&barrier, NULL, kThreads) == 0 && sem_init(&semaphore, 0, 0) == 0);
  for (intptr_t i = 0; i < kThreads; ++i)
    MUST(pthread_create(&threads[i], NULL, add, (void*)(i + 1)) == 0);
  for (int i = 0; i < kThreads; ++i)
    sem_post(&semaphore);
  int others = 0;
  for (int i = 0; i < kThreads; ++i) {
    void* result;
    MUST(pthread_join(threads[i], &result) == 0);
    others += (int)(intptr_t)result;
  }
  fact("sum %ld, threads with an id of their own %d", sum, others);
  for (intptr_t i = 0; i < kThreads; ++i)
    MUST(pthread_create(&threads[i], NULL, speak, (void*)(kThreads - 1 - i)) == 0);
  for (int i = 0; i < kThreads; ++i)
    MUST(pthread_join(threads[i], NULL) == 0);
}

static _Atomic unsigned word, other_word, arrived;

static void* wait_on_word(void* argument) {
  (void)argument;
  ++arrived;
  while (word == 1)
    futex(&word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
  return NULL;
}

static void futexes(void) {
  struct timespec soon = {0, 1000000};
  fact("wait for another value %s", outcome(futex(&word, FUTEX_WAIT_PRIVATE, 77, NULL, NULL, 0)));
  fact("wait times out %s", outcome(futex(&word, FUTEX_WAIT_PRIVATE, 0, &soon, NULL, 0)));
  struct timespec past = {1, 0};
  long waited = futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, &past, NULL, FUTEX_BITSET_MATCH_ANY);
  fact("bitset wait until the past %s", outcome(waited));
  fact("wake nobody %s", outcome(futex(&word, FUTEX_WAKE_PRIVATE, 5, NULL, NULL, 0)));
  fact("misaligned %s", outcome(futex((char*)&word + 1, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0)));

  word = 1;
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, wait_on_word, NULL) == 0);
  while (arrived == 0)
    sched_yield();
  word = 0;
  futex(&word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
  MUST(pthread_join(thread, NULL) == 0);

  // other_word becomes other_word + 3; the comparison with its old value says no second wake.
  other_word = 10;
  unsigned op = FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 11);
  long woken = futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, (void*)1, &other_word, op);
  fact("wake_op %s word %u", outcome(woken), (unsigned)other_word);
  fact("requeue %s", outcome(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void*)1, &other_word, 0)));
  fact("requeue with a wrong value %s",
       outcome(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void*)1, &other_word, 9)));

  pthread_mutexattr_t attribute;
  pthread_mutexattr_init(&attribute);
  pthread_mutexattr_setprotocol(&attribute, PTHREAD_PRIO_INHERIT);
  pthread_mutexattr_setrobust(&attribute, PTHREAD_MUTEX_ROBUST);
  static pthread_mutex_t inherit;
  fact("pi mutex %d", pthread_mutex_init(&inherit, &attribute));
  fact("lock %d", pthread_mutex_lock(&inherit));
  fact("unlock %d", pthread_mutex_unlock(&inherit));
}

static pthread_mutex_t robust;

static void* die_with_lock(void* argument) {
  (void)argument;
  pthread_mutex_lock(&robust);
  return NULL;
}

static void ends(void) {
  pthread_mutexattr_t attribute;
  pthread_mutexattr_init(&attribute);
  pthread_mutexattr_setrobust(&attribute, PTHREAD_MUTEX_ROBUST);
  MUST(pthread_mutex_init(&robust, &attribute) == 0);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, die_with_lock, NULL) == 0);
  MUST(pthread_join(thread, NULL) == 0);
  int locked = pthread_mutex_lock(&robust);
  fact("owner died %s", strerrorname_np(locked));
  fact("consistent %d", pthread_mutex_consistent(&robust));
  fact("unlock %d", pthread_mutex_unlock(&robust));
  void* list = NULL;
  size_t size = 0;
  long got = syscall(SYS_get_robust_list, 0, &list, &size);
  fact("get_robust_list %s size %zu set %d", outcome(got), size, list != NULL);
  fact("membarrier %d", syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) >= 0);
  fact("tgkill %s", outcome(syscall(SYS_tgkill, getpid(), gettid(), 0)));
  cpu_set_t cpus;
  fact("affinity %d", pthread_getaffinity_np(pthread_self(), sizeof cpus, &cpus));
  changing("tid %d", gettid());
}

int main(int argc, char** argv) {
  report_start(argc, argv);
  together();
  futexes();
  ends();
  return 0;
}
