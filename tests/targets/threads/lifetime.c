// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How threads and processes with threads begin and end. The case is named by the argument.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int alive, total;
static sem_t started;
static int never[2]; // a pipe that nothing is written to

static void* short_life(void* arg) {
  atomic_fetch_add(&total, 1);
  return arg;
}

static void* in_read(void* arg) {
  char c;
  sem_post(&started);
  if (read(never[0], &c, 1) < 0) abort();
  return arg;
}

static void* in_loop(void* arg) {
  sem_post(&started);
  for (volatile long i = 0;; ++i) {
  }
  return arg;
}

static void* in_lock(void* arg) {
  static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  sem_post(&started);
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&m);
  return arg;
}

static pthread_t start(void* (*body)(void*), void* arg) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, arg) != 0) abort();
  return thread;
}

static void three_kinds(void) {
  start(in_read, NULL);
  start(in_loop, NULL);
  start(in_lock, NULL);
  for (int i = 0; i < 3; ++i)
    sem_wait(&started);
}

static void* exits_with_12(void* arg) {
  printf("a thread exits\n");
  fflush(stdout);
  exit(12);
  return arg;
}

static void* execs(void* arg) {
  execl("/bin/echo", "echo", "a thread has execed", NULL);
  return arg;
}

static void* crashes(void* arg) {
  *(volatile int*)8 = 1;
  return arg;
}

static pthread_t main_thread;

static void* outlives_main(void* arg) {
  pthread_join(main_thread, NULL);
  printf("main is over\n");
  return arg;
}

static void* forks(void* arg) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    // Alone, in a process that has never had its first thread.
    pthread_t again = start(short_life, NULL);
    pthread_join(again, NULL);
    printf("child: pid is tid %d, total %d\n", getpid() == (pid_t)syscall(SYS_gettid), atomic_load(&total));
    fflush(stdout);
    _exit(5);
  }
  int status;
  waitpid(child, &status, 0);
  printf("parent: child gave %d\n", WEXITSTATUS(status));
  return arg;
}

static void cleanup(void* arg) {
  printf("cleanup %ld\n", (long)arg);
}

static void* cancelled(void* arg) {
  pthread_cleanup_push(cleanup, arg);
  if (arg == (void*)1) {
    in_read(arg);
  } else if (arg == (void*)2) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    in_loop(arg);
  } else {
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    sem_post(&started);
    pthread_mutex_lock(&m);
    for (;;)
      pthread_cond_wait(&c, &m);
  }
  pthread_cleanup_pop(0);
  return arg;
}

static void* deep(void* arg) {
  long depth = (long)arg;
  atomic_fetch_add(&alive, 1);
  if (depth > 0) pthread_join(start(deep, (void*)(depth - 1)), NULL);
  return arg;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (sem_init(&started, 0, 0) != 0 || pipe(never) != 0) abort();
  main_thread = pthread_self();
  if (strcmp(what, "many") == 0) {
    pthread_t threads[200];
    for (long i = 0; i < 200; ++i)
      threads[i] = start(short_life, (void*)i);
    long sum = 0;
    for (int i = 0; i < 200; ++i) {
      void* result;
      pthread_join(threads[i], &result);
      sum += (long)result;
    }
    printf("%d threads, sum %ld\n", atomic_load(&total), sum);
  } else if (strcmp(what, "detached") == 0) {
    for (int i = 0; i < 50; ++i)
      pthread_detach(start(short_life, NULL));
    while (atomic_load(&total) < 50)
      sched_yield();
    printf("%d detached threads\n", atomic_load(&total));
  } else if (strcmp(what, "chain") == 0) {
    pthread_join(start(deep, (void*)20), NULL);
    printf("a chain of %d\n", atomic_load(&alive));
  } else if (strcmp(what, "return") == 0) {
    three_kinds();
    return 9;
  } else if (strcmp(what, "exit_in_thread") == 0) {
    three_kinds();
    start(exits_with_12, NULL);
    pause();
  } else if (strcmp(what, "main_first") == 0) {
    start(outlives_main, NULL);
    pthread_exit(NULL);
  } else if (strcmp(what, "raw_exit") == 0) {
    pthread_join(start(short_life, NULL), NULL);
    syscall(SYS_exit, 33);
  } else if (strcmp(what, "crash") == 0) {
    three_kinds();
    start(crashes, NULL);
    pause();
  } else if (strcmp(what, "exec") == 0) {
    three_kinds();
    start(execs, NULL);
    pause();
  } else if (strcmp(what, "fork") == 0) {
    three_kinds();
    pthread_join(start(forks, NULL), NULL);
  } else if (strcmp(what, "cancel") == 0) {
    for (long i = 1; i <= 3; ++i) {
      pthread_t thread = start(cancelled, (void*)i);
      sem_wait(&started);
      struct timespec pause_time = {0, 1000000};
      nanosleep(&pause_time, NULL);
      pthread_cancel(thread);
      void* result;
      pthread_join(thread, &result);
      printf("cancelled: %d\n", result == PTHREAD_CANCELED);
    }
  } else {
    return 2;
  }
  return 0;
}
