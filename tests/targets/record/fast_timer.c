// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two timers whose signals come faster than rdb can deliver them, and threads that have something to do. The
// program ends when the work is done.
//
//   fast_timer MICROSECONDS THREADS ITERATIONS
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static volatile long handled;
static long iterations;

static void handler(int signal) {
  (void)signal;
  __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void* work(void* argument) {
  volatile unsigned long* sum = argument;
  for (long i = 0; i < iterations; i++)
    *sum += (unsigned long)i * (unsigned long)i;
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  long interval = atol(argv[1]);
  int threads = atoi(argv[2]);
  iterations = atol(argv[3]);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  sigaction(SIGUSR1, &action, NULL);
  struct itimerval often = {{0, interval}, {0, interval}};
  setitimer(ITIMER_REAL, &often, NULL);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  struct itimerspec too = {{0, interval * 1000}, {0, interval * 1000}};
  timer_settime(timer, 0, &too, NULL);
  pthread_t others[16];
  static volatile unsigned long sums[17];
  for (int i = 0; i < threads; i++)
    pthread_create(&others[i], NULL, work, (void*)&sums[i]);
  work((void*)&sums[threads]);
  for (int i = 0; i < threads; i++)
    pthread_join(others[i], NULL);
  for (int i = 0; i <= threads; i++)
    printf("%lx\n", sums[i]);
  printf("%s\n", handled > 0 ? "signals came" : "no signals");
  return 0;
}
