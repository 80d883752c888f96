// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Processes that read and write the same pages in all ways at once: single words, words across the edge of
// two pages, copies from one page to another by loops and by instructions that repeat, upwards and downwards,
// system calls. Meanwhile they are killed and started anew, and stopped for a while. Argument: a seed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kProcesses = 4, kPages = 6, kPage = 4096, kRounds = 30 };

static char* memory;
static int ends[2];

static char* page(unsigned number) {
  return memory + number % kPages * kPage;
}

static void copy(volatile char* to, const volatile char* from, size_t size) {
  for (size_t i = 0; i < size; ++i)
    to[i] = from[i];
}

static void copy_up(char* to, const char* from, size_t size) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static void copy_words_down(char* to, const char* from, size_t count) {
  asm volatile("std; rep movsq; cld" : "+D"(to), "+S"(from), "+c"(count) : : "memory", "cc");
}

static void across_the_edge(char* at) {
  long value;
  memcpy(&value, at, sizeof value);
  ++value;
  memcpy(at, &value, sizeof value);
}

static void send(char* one, char* other) {
  struct iovec parts[2] = {{one, 100}, {other, 100}};
  char buffer[200];
  if (writev(ends[1], parts, 2) < 0 || read(ends[0], buffer, sizeof buffer) < 0) return; // full, or empty
}

static void rest(long microseconds) {
  nanosleep(&(struct timespec){0, microseconds * 1000}, NULL);
}

static _Noreturn void work(unsigned seed) {
  for (;;) {
    seed = seed * 1103515245 + 12345;
    char* one = page(seed >> 16);
    char* other = page(seed >> 19);
    switch (seed >> 24 & 7) {
    case 0:
      atomic_fetch_add((atomic_long*)one, 1);
      break;
    case 1:
      copy(one + 512, other + 512, 700);
      break;
    case 2:
      across_the_edge(one + kPage - 4);
      break;
    case 3:
      send(one, other);
      break;
    case 4:
      rest(1);
      break;
    case 5:
      copy_up(one + 100, one + 200, 50);
      break;
    case 6:
      copy_up(one + 100, other + 64, 900);
      break;
    case 7:
      copy_words_down(one + 1003, other + 999, 100);
      break;
    }
  }
}

static pid_t start(unsigned seed) {
  pid_t child = fork();
  if (child == 0) work(seed);
  return child;
}

static void end(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

int main(int argc, char** argv) {
  unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  memory = mmap(NULL, (kPages + 1) * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || pipe2(ends, O_NONBLOCK) != 0) return 9;
  pid_t children[kProcesses];
  for (unsigned i = 0; i < kProcesses; ++i)
    children[i] = start(seed + i);
  for (unsigned round = 0; round < kRounds; ++round) {
    rest(2000 + (seed * 7919 + round * 104729) % 9000);
    pid_t* child = &children[round % kProcesses];
    if (round % 5 == 4) {
      kill(*child, SIGSTOP);
      rest(3000);
      kill(*child, SIGCONT);
    } else {
      end(*child);
      *child = start(seed + round * 31);
    }
    atomic_fetch_add((atomic_long*)page(round) + 1, 1);
  }
  for (unsigned i = 0; i < kProcesses; ++i)
    end(children[i]);
  puts("end");
  return 0;
}
