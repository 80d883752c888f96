// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A timer whose signals come faster than rdb can deliver them, and a program that does little else than make
// system calls: each is made, whatever the timer does, and those that wait are still ended by it.
//
//   timer_calls [MICROSECONDS]
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t timers;
static volatile sig_atomic_t users;
static long interval;

static void on_timer(int signal) {
  (void)signal;
  timers++;
}

static void on_user(int signal) {
  (void)signal;
  users++;
}

static void set_timer(long microseconds) {
  struct itimerval often = {{0, microseconds}, {0, microseconds}};
  if (setitimer(ITIMER_REAL, &often, NULL) != 0) perror("setitimer");
}

static void take(int flags) {
  struct sigaction action = {.sa_handler = on_timer, .sa_flags = flags};
  sigaction(SIGALRM, &action, NULL);
}

static void raises(void) {
  struct sigaction action = {.sa_handler = on_user, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 300; i++)
    raise(SIGUSR1);
  printf("raised %d\n", (int)users);
}

// While it is blocked, it does not come.
static void masks(void) {
  sigset_t timer;
  sigemptyset(&timer);
  sigaddset(&timer, SIGALRM);
  int wrong = 0;
  for (int i = 0; i < 100; i++) {
    sigprocmask(SIG_BLOCK, &timer, NULL);
    int before = timers;
    getppid();
    if (timers != before) wrong++;
    sigprocmask(SIG_UNBLOCK, &timer, NULL);
  }
  printf("masks %d\n", wrong);
}

static void pipes(void) {
  int ends[2];
  if (pipe(ends) != 0) perror("pipe");
  long sum = 0;
  for (int i = 0; i < 200; i++) {
    char byte = (char)i;
    if (write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1) sum += (unsigned char)byte;
  }
  printf("pipes %ld\n", sum);
  close(ends[0]);
  close(ends[1]);
}

static void children(void) {
  int sum = 0;
  for (int i = 0; i < 5; i++) {
    pid_t child = fork();
    if (child == 0) _exit(i + 1);
    int status;
    if (waitpid(child, &status, 0) == child) sum += WEXITSTATUS(status);
  }
  printf("children %d\n", sum);
}

// Nothing comes out of the pipe: the timer ends the wait.
static void waits(void) {
  int ends[2];
  if (pipe(ends) != 0) perror("pipe");
  take(0);
  int ended = 0;
  for (int i = 0; i < 20; i++) {
    char byte;
    if (read(ends[0], &byte, 1) < 0 && errno == EINTR) ended++;
    if (pause() < 0 && errno == EINTR) ended++;
  }
  // Until a point in time: what is left of a duration might never get less where signals come all the time.
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += 2000000;
  if (end.tv_nsec >= 1000000000) {
    end.tv_nsec -= 1000000000;
    end.tv_sec++;
  }
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
  }
  take(SA_RESTART);
  printf("waits ended %d\n", ended);
  close(ends[0]);
  close(ends[1]);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turns;

static void* play(void* number) {
  int mine = *(int*)number;
  pthread_mutex_lock(&lock);
  while (turns < 50) {
    while (turns % 2 != mine && turns < 50)
      pthread_cond_wait(&turned, &lock);
    turns++;
    pthread_cond_broadcast(&turned);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void threads(void) {
  pthread_t others[2];
  int numbers[2] = {0, 1};
  for (int i = 0; i < 2; i++)
    pthread_create(&others[i], NULL, play, &numbers[i]);
  for (int i = 0; i < 2; i++)
    pthread_join(others[i], NULL);
  printf("threads %s\n", turns >= 50 ? "done" : "not done");
}

// One that makes the next signal itself.
static timer_t single;

static void once_more(int signal) {
  (void)signal;
  timers++;
  struct itimerspec soon = {{0, 0}, {0, interval * 1000}};
  timer_settime(single, 0, &soon, NULL);
}

static void singles(void) {
  struct sigaction action = {.sa_handler = once_more, .sa_flags = SA_RESTART};
  sigaction(SIGUSR2, &action, NULL);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
  timer_create(CLOCK_MONOTONIC, &event, &single);
  int before = timers;
  once_more(0);
  while (timers < before + 20)
    getppid();
  raises();
  timer_delete(single);
  int at_end = timers;
  for (int i = 0; i < 100; i++)
    getppid();
  printf("singles %d\n", timers - at_end);
}

int main(int argc, char** argv) {
  interval = argc > 1 ? atol(argv[1]) : 10;
  setvbuf(stdout, NULL, _IOLBF, 0);
  take(SA_RESTART);
  set_timer(interval);
  raises();
  masks();
  pipes();
  children();
  waits();
  threads();
  set_timer(0);
  printf("%s\n", timers > 0 ? "signals came" : "no signals");
  users = 0;
  singles();
  return 0;
}
