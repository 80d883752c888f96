// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When SIGKILL ends a process that has robust locks in shared memory, the kernel marks them and wakes a
// waiter, before anybody can notice the death: who waits, or comes later, gets the lock with EOWNERDEAD.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kLocks = 4, kPage = 4096 };

struct Shared {
  pthread_mutex_t lock;
  volatile int value;
};
static char* memory; // one lock in each page

static struct Shared* at(int index) {
  return (struct Shared*)(memory + index * kPage + 64);
}

static const char* name(int error) {
  return error ? strerrorname_np(error) : "locked";
}

// After EOWNERDEAD the lock works again.
static void recover(const char* what, int index, int error) {
  printf("%s: %s, value %d", what, name(error), at(index)->value);
  if (error == EOWNERDEAD) pthread_mutex_consistent(&at(index)->lock);
  if (error == EOWNERDEAD || error == 0) pthread_mutex_unlock(&at(index)->lock);
  int again = pthread_mutex_lock(&at(index)->lock);
  printf(", then %s\n", name(again));
  pthread_mutex_unlock(&at(index)->lock);
}

// A child that takes all locks, says so, and sleeps, computes, or goes on taking and giving back the last
// one.
static pid_t owner(int how) {
  int ends[2];
  pipe(ends);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < kLocks; i++) {
      pthread_mutex_lock(&at(i)->lock);
      at(i)->value += 10;
    }
    write(ends[1], "x", 1);
    for (volatile int turn = 0; how != 0; turn++) {
      if (how == 2) at(0)->value += 0;
      if (how == 3) {
        pthread_mutex_unlock(&at(3)->lock);
        pthread_mutex_lock(&at(3)->lock);
      }
    }
    for (;;)
      pause();
  }
  char byte;
  close(ends[1]);
  read(ends[0], &byte, 1);
  close(ends[0]);
  return child;
}

static void later(int how) {
  pid_t child = owner(how);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  for (int i = 0; i < kLocks - (how == 3); i++)
    recover(i % 2 ? "lock" : "trylock", i,
            i % 2 ? pthread_mutex_lock(&at(i)->lock) : pthread_mutex_trylock(&at(i)->lock));
  if (how == 3) {
    // It was killed with or without this one.
    int error = pthread_mutex_lock(&at(3)->lock);
    if (error == EOWNERDEAD) pthread_mutex_consistent(&at(3)->lock);
    pthread_mutex_unlock(&at(3)->lock);
  }
}

// The parent waits for the lock when another child kills the owner.
static void waiting(int how, int timed) {
  pid_t child = owner(how);
  pid_t killer = fork();
  if (killer == 0) {
    usleep(100000);
    kill(child, SIGKILL);
    _exit(0);
  }
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += 60;
  int error = timed ? pthread_mutex_timedlock(&at(1)->lock, &limit) : pthread_mutex_lock(&at(1)->lock);
  recover(timed ? "waited with a limit" : "waited", 1, error);
  waitpid(child, NULL, 0);
  waitpid(killer, NULL, 0);
  for (int i = 0; i < kLocks; i++) {
    if (i == 1) continue;
    error = pthread_mutex_lock(&at(i)->lock);
    if (i == 3 && how == 3 && error == 0) error = EOWNERDEAD; // it may not have had it
    printf("  and %s\n", name(error));
    pthread_mutex_consistent(&at(i)->lock);
    pthread_mutex_unlock(&at(i)->lock);
  }
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  memory = mmap(NULL, kLocks * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  for (int i = 0; i < kLocks; i++)
    pthread_mutex_init(&at(i)->lock, &kind);
  for (int how = 0; how < 4; how++)
    later(how);
  for (int how = 0; how < 3; how++)
    for (int timed = 0; timed < 2; timed++)
      waiting(how, timed);
  return 0;
}
