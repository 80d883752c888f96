// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals and threads: the right thread gets them, in calls and out of calls, and masks are each one's own.
// The case is named by the argument.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static __thread int number;
static atomic_int got[8];
static atomic_int finished;
static sem_t started;
static int pipe_ends[2];
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void on_signal(int signal) {
  (void)signal;
  atomic_fetch_add(&got[number], 1);
}

static void* busy(void* arg) {
  number = (int)(long)arg;
  sem_post(&started);
  while (!atomic_load(&finished)) {
  }
  return NULL;
}

static void* reading(void* arg) {
  number = (int)(long)arg;
  char c;
  sem_post(&started);
  long n = read(pipe_ends[0], &c, 1);
  return (void*)(n < 0 ? -errno : n);
}

static void* locking(void* arg) {
  number = (int)(long)arg;
  sem_post(&started);
  pthread_mutex_lock(&held); // goes on waiting after a signal
  pthread_mutex_unlock(&held);
  return NULL;
}

static void* sleeping(void* arg) {
  number = (int)(long)arg;
  struct timespec long_time = {1000, 0};
  sem_post(&started);
  return (void*)(long)(nanosleep(&long_time, NULL) ? -errno : 0);
}

static void* waiting_semaphore(void* arg) {
  number = (int)(long)arg;
  sem_t never;
  sem_init(&never, 0, 0);
  sem_post(&started);
  return (void*)(long)(sem_wait(&never) ? -errno : 0);
}

static void handle(int signal, int flags) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
  sigaction(signal, &action, NULL);
}

static pthread_t start(void* (*body)(void*), long index) {
  pthread_t thread;
  pthread_create(&thread, NULL, body, (void*)index);
  sem_wait(&started);
  usleep(10000);
  return thread;
}

static void wait_until(int index, int count) {
  while (atomic_load(&got[index]) < count)
    usleep(200);
}

static void directed(void) {
  handle(SIGUSR1, 0);
  pthread_mutex_lock(&held);
  pthread_t threads[5] = {start(busy, 1), start(reading, 2), start(locking, 3), start(sleeping, 4),
                          start(waiting_semaphore, 5)};
  for (int i = 0; i < 5; ++i) {
    pthread_kill(threads[i], SIGUSR1);
    wait_until(i + 1, 1);
  }
  atomic_store(&finished, 1);
  pthread_mutex_unlock(&held);
  for (int i = 0; i < 5; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    printf("thread %d: %d signals, result %s\n", i + 1, atomic_load(&got[i + 1]),
           (long)result < 0 ? strerrorname_np((int)-(long)result) : "0");
  }
}

static void restarted(void) {
  handle(SIGUSR1, SA_RESTART);
  if (pipe(pipe_ends) != 0) abort();
  pthread_t thread = start(reading, 1);
  for (int i = 1; i <= 3; ++i) {
    pthread_kill(thread, SIGUSR1);
    wait_until(1, i);
  }
  if (write(pipe_ends[1], "x", 1) != 1) abort();
  void* result;
  pthread_join(thread, &result);
  printf("restarted: %ld after %d signals\n", (long)result, atomic_load(&got[1]));
}

static void* takes_signals(void* arg) {
  sigset_t* set = arg;
  long sum = 0;
  for (int i = 0; i < 5; ++i) {
    int signal;
    if (sigwait(set, &signal) != 0) abort();
    sum = sum * 100 + signal;
    sem_post(&started);
  }
  return (void*)sum;
}

static void waited(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, takes_signals, &set);
  for (int i = 0; i < 5; ++i) {
    kill(getpid(), i % 2 ? SIGUSR2 : SIGUSR1);
    sem_wait(&started);
  }
  void* result;
  pthread_join(thread, &result);
  printf("waited: %ld\n", (long)result);
}

// Only one thread lets the signal in: that one gets what is sent to the process.
static void* lets_in(void* arg) {
  number = 1;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  return busy(arg);
}

static void masked(void) {
  handle(SIGUSR1, SA_RESTART);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, busy, (void*)2);
  pthread_create(&threads[1], NULL, lets_in, (void*)1);
  pthread_create(&threads[2], NULL, busy, (void*)3);
  for (int i = 0; i < 3; ++i)
    sem_wait(&started);
  for (int i = 1; i <= 20; ++i) {
    kill(getpid(), SIGUSR1);
    wait_until(1, i);
  }
  atomic_store(&finished, 1);
  for (int i = 0; i < 3; ++i)
    pthread_join(threads[i], NULL);
  printf("masked: %d %d %d %d\n", atomic_load(&got[0]), atomic_load(&got[1]), atomic_load(&got[2]),
         atomic_load(&got[3]));
}

// A timer fires into threads that compute; none of their results may change.
static void* computes(void* arg) {
  unsigned long x = (unsigned long)arg;
  for (int i = 0; i < 3000000; ++i)
    x = x * 6364136223846793005ul + 1442695040888963407ul;
  return (void*)x;
}

static void storm(void) {
  handle(SIGALRM, SA_RESTART);
  struct itimerval every = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &every, NULL);
  pthread_t threads[3];
  for (long i = 0; i < 3; ++i)
    pthread_create(&threads[i], NULL, computes, (void*)(i + 1));
  for (int i = 0; i < 3; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    printf("storm %lx\n", (unsigned long)result);
  }
}

// What a thread sends to itself, lets in or waits for has come when the call returns.
static void at_once(void) {
  handle(SIGUSR1, 0);
  sigset_t usr1, none;
  sigemptyset(&none);
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  int late = 0;
  for (int i = 0; i < 20; ++i) {
    int before = atomic_load(&got[0]);
    raise(SIGUSR1);
    late += atomic_load(&got[0]) != before + 1;
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    raise(SIGUSR1);
    late += atomic_load(&got[0]) != before + 1;
    sigprocmask(SIG_UNBLOCK, &usr1, NULL);
    late += atomic_load(&got[0]) != before + 2;
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    kill(getpid(), SIGUSR1);
    sigsuspend(&none);
    late += atomic_load(&got[0]) != before + 3;
    sigprocmask(SIG_UNBLOCK, &usr1, NULL);
  }
  printf("at once: %d, late: %d\n", atomic_load(&got[0]), late);
}

int main(int argc, char** argv) {
  const struct {
    const char* name;
    void (*body)(void);
  } cases[] = {{"directed", directed}, {"restarted", restarted}, {"waited", waited},
               {"masked", masked},     {"storm", storm},         {"at_once", at_once}};
  sem_init(&started, 0, 0);
  if (pipe(pipe_ends) != 0) abort();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) cases[i].body();
  return 0;
}
