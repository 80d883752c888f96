// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The locks of pthreads, each between several threads. The case is named by the argument.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kThreads = 4, kRounds = 3000 };

static void run(void* (*body)(void*), int count) {
  pthread_t threads[32];
  for (long i = 0; i < count; ++i)
    if (pthread_create(&threads[i], NULL, body, (void*)i) != 0) abort();
  for (int i = 0; i < count; ++i)
    pthread_join(threads[i], NULL);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void* count_locked(void* arg) {
  for (int i = 0; i < kRounds; ++i) {
    pthread_mutex_lock(&mutex);
    ++counter;
    pthread_mutex_unlock(&mutex);
  }
  return arg;
}

static void mutexes(void) {
  const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                       PTHREAD_MUTEX_ADAPTIVE_NP};
  for (int k = 0; k < 4; ++k) {
    for (int protocol = 0; protocol < 2; ++protocol) {
      pthread_mutexattr_t attributes;
      pthread_mutexattr_init(&attributes);
      pthread_mutexattr_settype(&attributes, kinds[k]);
      pthread_mutexattr_setprotocol(&attributes, protocol ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
      pthread_mutex_init(&mutex, &attributes);
      counter = 0;
      run(count_locked, kThreads);
      printf("mutex kind %d protocol %d: %ld\n", kinds[k], protocol, counter);
      pthread_mutex_destroy(&mutex);
    }
  }
}

// A bounded queue: the classic use of two condition variables.
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static int queue[8], head, tail, length;
static long sum;

static void* producer(void* arg) {
  for (int i = 1; i <= kRounds; ++i) {
    pthread_mutex_lock(&mutex);
    while (length == 8)
      pthread_cond_wait(&not_full, &mutex);
    queue[tail++ % 8] = i;
    ++length;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&mutex);
  }
  return arg;
}

static void* consumer(void* arg) {
  for (int i = 0; i < kRounds; ++i) {
    pthread_mutex_lock(&mutex);
    while (length == 0)
      pthread_cond_wait(&not_empty, &mutex);
    sum += queue[head++ % 8];
    --length;
    pthread_cond_broadcast(&not_full);
    pthread_mutex_unlock(&mutex);
  }
  return arg;
}

static void* either(void* arg) {
  return (long)arg % 2 ? producer(arg) : consumer(arg);
}

static void conditions(void) {
  pthread_mutex_init(&mutex, NULL);
  run(either, 4);
  printf("queue: %ld left %d\n", sum, length);
}

static pthread_barrier_t barrier;
static atomic_int serial, arrived;
static int wrong;

static void* at_barrier(void* arg) {
  for (int i = 1; i <= 200; ++i) {
    atomic_fetch_add(&arrived, 1);
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) atomic_fetch_add(&serial, 1);
    if (atomic_load(&arrived) < i * kThreads) wrong = 1;
    pthread_barrier_wait(&barrier);
  }
  return arg;
}

static void barriers(void) {
  pthread_barrier_init(&barrier, NULL, kThreads);
  run(at_barrier, kThreads);
  printf("barrier: %d serial, wrong %d\n", atomic_load(&serial), wrong);
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long pair[2];

static void* read_or_write(void* arg) {
  for (int i = 0; i < kRounds; ++i) {
    if ((i + (long)arg) % 5 == 0) {
      pthread_rwlock_wrlock(&rwlock);
      ++pair[0];
      if (i % 50 == 0) sched_yield();
      ++pair[1];
      pthread_rwlock_unlock(&rwlock);
    } else {
      pthread_rwlock_rdlock(&rwlock);
      if (pair[0] != pair[1]) wrong = 1;
      pthread_rwlock_unlock(&rwlock);
    }
  }
  return arg;
}

static void rwlocks(void) {
  run(read_or_write, kThreads);
  printf("rwlock: %ld %ld wrong %d\n", pair[0], pair[1], wrong);
}

static sem_t items, places;

static void* through_semaphores(void* arg) {
  for (int i = 0; i < kRounds; ++i) {
    if ((long)arg % 2) {
      sem_wait(&places);
      sem_post(&items);
    } else {
      sem_wait(&items);
      sem_post(&places);
    }
  }
  return arg;
}

static void semaphores(void) {
  sem_init(&items, 0, 0);
  sem_init(&places, 0, 3);
  run(through_semaphores, 4);
  int left, room;
  sem_getvalue(&items, &left);
  sem_getvalue(&places, &room);
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_nsec += 2000000;
  if (soon.tv_nsec >= 1000000000) ++soon.tv_sec, soon.tv_nsec -= 1000000000;
  int timed = sem_timedwait(&items, &soon);
  printf("semaphores: %d %d, then %s\n", left, room, timed ? strerror(errno) : "taken");
}

static pthread_spinlock_t spin;
static atomic_int flag;

static void* spinning(void* arg) {
  for (int i = 0; i < kRounds; ++i) {
    pthread_spin_lock(&spin);
    ++counter;
    pthread_spin_unlock(&spin);
  }
  // Nobody yields: only the end of a turn lets the others go on.
  while (atomic_load(&flag) != (long)arg) {
  }
  atomic_fetch_add(&flag, 1);
  return arg;
}

static void spins(void) {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  counter = 0;
  run(spinning, kThreads);
  printf("spin: %ld, flag %d\n", counter, atomic_load(&flag));
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int made;
static __thread long local = 7;
static pthread_key_t key;
static atomic_long destroyed;

static void make(void) {
  sched_yield();
  atomic_fetch_add(&made, 1);
}

static void destroy(void* value) {
  atomic_fetch_add(&destroyed, (long)value);
}

static void* own_things(void* arg) {
  pthread_once(&once, make);
  pthread_setspecific(key, (void*)((long)arg + 1));
  for (int i = 0; i < 1000; ++i) {
    local += (long)arg;
    if (i % 100 == 0) sched_yield();
  }
  if (local != 7 + 1000 * (long)arg) wrong = 1;
  return arg;
}

static void own(void) {
  pthread_key_create(&key, destroy);
  run(own_things, 8);
  printf("own: made %d, destroyed %ld, wrong %d\n", atomic_load(&made), atomic_load(&destroyed), wrong);
}

// Robust mutexes whose owners end without unlocking.
static void* dies_holding(void* arg) {
  pthread_mutex_lock(arg);
  return NULL;
}

static void* waits_for_heir(void* arg) {
  int result = pthread_mutex_lock(arg);
  if (result == EOWNERDEAD) pthread_mutex_consistent(arg);
  pthread_mutex_unlock(arg);
  return (void*)(long)result;
}

static void robust(void) {
  for (int protocol = 0; protocol < 2; ++protocol) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&attributes, protocol ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
    pthread_mutex_t m;
    pthread_mutex_init(&m, &attributes);
    pthread_t a;
    pthread_create(&a, NULL, dies_holding, &m);
    pthread_join(a, NULL);
    int first = pthread_mutex_lock(&m);
    pthread_mutex_consistent(&m);
    pthread_t heirs[3];
    for (int i = 0; i < 3; ++i)
      pthread_create(&heirs[i], NULL, waits_for_heir, &m);
    struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
    pthread_mutex_unlock(&m);
    long results = 0;
    for (int i = 0; i < 3; ++i) {
      void* result;
      pthread_join(heirs[i], &result);
      results += (long)result;
    }
    printf("robust protocol %d: %s, then %ld, at last %d\n", protocol, strerrorname_np(first), results,
           pthread_mutex_trylock(&m));
  }
}

static void* timed_out(void* arg) {
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_nsec += 3000000;
  if (soon.tv_nsec >= 1000000000) ++soon.tv_sec, soon.tv_nsec -= 1000000000;
  return (void*)(long)pthread_mutex_timedlock(arg, &soon);
}

static void timeouts(void) {
  for (int protocol = 0; protocol < 2; ++protocol) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, protocol ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
    pthread_mutex_t m;
    pthread_mutex_init(&m, &attributes);
    pthread_mutex_lock(&m);
    pthread_t a;
    void* result;
    pthread_create(&a, NULL, timed_out, &m);
    pthread_join(a, &result);
    struct timespec soon;
    clock_gettime(CLOCK_MONOTONIC, &soon);
    pthread_cond_t never;
    pthread_cond_init(&never, NULL);
    int waited = pthread_cond_clockwait(&never, &m, CLOCK_MONOTONIC, &soon);
    printf("timeouts %d: %s %s\n", protocol, strerrorname_np((int)(long)result), strerrorname_np(waited));
    pthread_mutex_unlock(&m);
  }
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*body)(void);
  } cases[] = {{"mutexes", mutexes}, {"conditions", conditions}, {"barriers", barriers},
               {"rwlocks", rwlocks}, {"semaphores", semaphores}, {"spins", spins},
               {"own", own},         {"robust", robust},         {"timeouts", timeouts}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (argc < 2 || strcmp(argv[1], cases[i].name) == 0) cases[i].body();
  return 0;
}
