// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Processes that end or stop while they have what others wait for: a robust lock in memory that they share,
// or the memory itself. And calls that need many pages of it while another process writes to all of them.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 8, kRounds = 300 };

struct Shared {
  pthread_mutex_t lock;
  atomic_int taken;
  int word;
};
static struct Shared* shared;
static char* pages;

static void* map(size_t size) {
  void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(9);
  return memory;
}

static void init_lock(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&shared->lock, &attributes);
  atomic_store(&shared->taken, 0);
}

static void* in_a_thread(void* unused) {
  pthread_mutex_lock(&shared->lock);
  atomic_store(&shared->taken, 1);
  return unused;
}

static void await_waiter(void) {
  while (!((unsigned)__atomic_load_n(&shared->lock.__data.__lock, __ATOMIC_RELAXED) & 0x80000000))
    sched_yield();
}

static void hold_and_end(const char* how) {
  // The one that ends is not always the one that has the lock.
  if (strcmp(how, "a thread's") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, in_a_thread, NULL);
    pthread_join(thread, NULL);
    _exit(0);
  }
  in_a_thread(NULL);
  await_waiter();
  if (strcmp(how, "exit") == 0) exit(0);
  if (strcmp(how, "the last thread") == 0) pthread_exit(NULL);
  if (strcmp(how, "execve") == 0) execl("/bin/true", "true", (char*)NULL);
  if (strcmp(how, "SIGTERM") == 0) raise(SIGTERM);
  struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  abort();
}

static void locks(void) {
  const char* ways[] = {"a thread's", "exit", "the last thread", "execve", "SIGTERM", "SIGABRT"};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    init_lock();
    pid_t child = fork();
    if (child == 0) hold_and_end(ways[i]);
    while (!atomic_load(&shared->taken))
      sched_yield();
    int result = pthread_mutex_lock(&shared->lock);
    printf("%s: %s\n", ways[i], result == EOWNERDEAD ? "EOWNERDEAD" : strerror(result));
    waitpid(child, NULL, 0);
  }
}

static void stopped(void) {
  pid_t child = fork();
  if (child == 0) {
    shared->word = 5;
    raise(SIGSTOP);
    shared->word = 7;
    _exit(0);
  }
  int status;
  waitpid(child, &status, WUNTRACED);
  printf("stopped %d, word %d\n", WIFSTOPPED(status), shared->word);
  kill(child, SIGCONT);
  waitpid(child, &status, 0);
  printf("ended %d, word %d\n", WIFEXITED(status), shared->word);
}

// A message of pages that another process keeps writing to.
static void many_pages(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) exit(9);
  pid_t child = fork();
  for (unsigned x = 1; child == 0; x = x * 1103515245 + 12345)
    ++pages[(x >> 16) % (kPages * kPage)];
  static char buffer[kPages * kPage];
  int sent = 0;
  for (int round = 0; round < kRounds; ++round) {
    struct iovec parts[4];
    for (int i = 0; i < 4; ++i)
      parts[i] = (struct iovec){pages + (3 - i) * 2 * kPage, kPage};
    struct mmsghdr messages[2] = {{{.msg_iov = parts, .msg_iovlen = 2}, 0},
                                  {{.msg_iov = parts + 2, .msg_iovlen = 2}, 0}};
    int result = sendmmsg(ends[0], messages, 2, 0);
    for (int i = 0; i < result; ++i)
      sent += read(ends[1], buffer, sizeof buffer) == 2 * kPage;
  }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  printf("messages %d of %d\n", sent, 2 * kRounds);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  shared = map(sizeof *shared);
  pages = map(kPages * kPage);
  locks();
  stopped();
  many_pages();
  return 0;
}
