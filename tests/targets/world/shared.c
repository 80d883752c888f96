// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Processes that share memory and all write to it: counters, locks, a barrier that spins, copies of many
// pages, a process that is killed in the middle, system calls on it, parts that are unmapped. What comes out
// is the same in every schedule.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kProcesses = 3, kRounds = 200, kPages = 40, kPage = 4096 };

struct Shared {
  atomic_long counter;
  atomic_int arrived[8];
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  sem_t ready;
  long locked;
  int turn;
  int pipe_ends[2];
  char words[64];
};
static struct Shared* shared;
static char* pages;

static void* map(size_t size) {
  void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(9);
  return memory;
}

static void meet(int which) {
  atomic_fetch_add(&shared->arrived[which], 1);
  while (atomic_load(&shared->arrived[which]) < kProcesses)
    ; // without a system call
}

// Each in its turn, by a condition variable.
static void in_turn(int self) {
  for (int round = 0; round < 10; ++round) {
    pthread_mutex_lock(&shared->mutex);
    while (shared->turn % kProcesses != self)
      pthread_cond_wait(&shared->condition, &shared->mutex);
    ++shared->turn;
    shared->locked = shared->locked * 3 + self;
    pthread_cond_broadcast(&shared->condition);
    pthread_mutex_unlock(&shared->mutex);
  }
}

static long sum_of_pages(void) {
  long sum = 0;
  for (int i = 0; i < kPages * kPage; ++i)
    sum += pages[i];
  return sum;
}

static int work(int self) {
  meet(0);
  for (int i = 0; i < kRounds; ++i) {
    atomic_fetch_add(&shared->counter, 1);
    if (i % 50 == 0) sched_yield();
  }
  in_turn(self);
  meet(1);
  // Whole pages from and to shared memory, each process its own part.
  char* part = pages + self * 10 * kPage;
  memset(part, self + 1, 10 * kPage);
  memcpy(pages + 30 * kPage + self * 3 * kPage, part, 3 * kPage);
  meet(2);
  long sum = sum_of_pages();
  if (self == 0 && write(shared->pipe_ends[1], "from one to another", 20) != 20) exit(9);
  if (self == 1 && read(shared->pipe_ends[0], shared->words, 20) != 20) exit(9);
  sem_post(&shared->ready);
  return sum == 10L * kPage * (1 + 2 + 3) + 3L * kPage * (1 + 2 + 3) ? 0 : 1;
}

static void init(void) {
  shared = map(sizeof *shared);
  pages = map(kPages * kPage);
  pthread_mutexattr_t mutex;
  pthread_mutexattr_init(&mutex);
  pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared->mutex, &mutex);
  pthread_condattr_t condition;
  pthread_condattr_init(&condition);
  pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&shared->condition, &condition);
  sem_init(&shared->ready, 1, 0);
  if (pipe(shared->pipe_ends) != 0) exit(9);
}

int main(void) {
  init();
  pid_t children[kProcesses];
  for (int i = 0; i < kProcesses; ++i) {
    children[i] = fork();
    if (children[i] == 0) _exit(work(i));
  }
  for (int i = 0; i < kProcesses; ++i)
    sem_wait(&shared->ready);
  for (int i = 0; i < kProcesses; ++i) {
    int status;
    waitpid(children[i], &status, 0);
    printf("child %d: %d\n", i, status);
  }
  printf("counter %ld, locked %ld, turn %d, %s\n", (long)shared->counter, shared->locked, shared->turn,
         shared->words);

  // One that is killed while it has the page.
  pid_t victim = fork();
  if (victim == 0) {
    shared->locked = 77;
    atomic_store(&shared->arrived[3], 1);
    for (;;)
      ++shared->turn;
  }
  while (atomic_load(&shared->arrived[3]) == 0)
    ;
  kill(victim, SIGKILL);
  waitpid(victim, NULL, 0);
  printf("locked %ld\n", shared->locked);

  // Unmapped in one process, there in the other; read-only for a while.
  pid_t child = fork();
  if (child == 0) {
    munmap(pages, 10 * kPage);
    pages[11 * kPage] = 42;
    mprotect(pages + 12 * kPage, kPage, PROT_READ);
    int before = pages[12 * kPage];
    mprotect(pages + 12 * kPage, kPage, PROT_READ | PROT_WRITE);
    pages[12 * kPage] = (char)(before + 10);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  printf("pages %d %d %d\n", pages[0], pages[11 * kPage], pages[12 * kPage]);
  return 0;
}
