// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SIGKILL ends a process that has robust locks in a shared file which has been cut off: those that are still
// there are marked, and the others are gone, as any memory there is.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kLocks = 4, kPage = 4096 };

static char* memory; // one lock in each page
static sigjmp_buf escape;

static pthread_mutex_t* at(int index) {
  return (pthread_mutex_t*)(memory + index * kPage + 64);
}

static void on_fault(int number) {
  siglongjmp(escape, number);
}

static void look_at(int index) {
  int number = sigsetjmp(escape, 1);
  if (number != 0) {
    printf("lock %d: signal %d\n", index, number);
    return;
  }
  int error = pthread_mutex_lock(at(index));
  printf("lock %d: %s\n", index, error ? strerrorname_np(error) : "locked");
  if (error == EOWNERDEAD) pthread_mutex_consistent(at(index));
  pthread_mutex_unlock(at(index));
}

// A process that takes all locks, says so and waits for its end.
static pid_t owner(void) {
  int ends[2];
  char byte;
  if (pipe(ends) != 0) perror("pipe");
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < kLocks; i++)
      pthread_mutex_lock(at(i));
    if (write(ends[1], "x", 1) != 1) perror("write");
    for (;;)
      pause();
  }
  if (read(ends[0], &byte, 1) != 1) perror("read");
  close(ends[0]);
  close(ends[1]);
  return child;
}

static void cut(int pages, int looks_first) {
  printf("%d pages left\n", pages);
  char name[] = "/tmp/rule_robust_cut-XXXXXX";
  int file = mkstemp(name);
  unlink(name);
  if (ftruncate(file, kLocks * kPage) != 0) perror("ftruncate");
  memory = mmap(NULL, kLocks * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  pthread_mutexattr_t robust;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setpshared(&robust, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  for (int i = 0; i < kLocks; i++)
    pthread_mutex_init(at(i), &robust);
  pid_t child = owner();
  // This process has the pages, and the other one had to let go of them.
  for (int i = 0; i < kLocks && looks_first; i++)
    memory[i * kPage + 2000] = 1;
  if (ftruncate(file, pages * kPage) != 0) perror("ftruncate");
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  for (int i = 0; i < kLocks; i++)
    if (i >= pages) look_at(i);
  for (int i = 0; i < pages; i++)
    look_at(i);
  munmap(memory, kLocks * kPage);
  close(file);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  signal(SIGBUS, on_fault);
  signal(SIGSEGV, on_fault);
  for (int looks_first = 0; looks_first < 2; looks_first++) {
    cut(0, looks_first);
    cut(4, looks_first);
  }
  return 0;
}
