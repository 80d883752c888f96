// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Prints what differs from run to run and must not from recording to replay: values that instructions take
// from the machine, clocks, and where in tight loops signals came. With "twice" it maps one file at two
// places.
#define _GNU_SOURCE
#include <cpuid.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms;
static volatile uint64_t counter;

static void on_alarm(int number) {
  (void)number;
  ++alarms;
}

static void show_instructions(void) {
  unsigned a, b, c, d;
  for (int i = 0; i < 3; ++i) {
    uint32_t low, high, processor;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    printf("rdtsc %08x%08x\n", high, low);
    asm volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(processor));
    printf("rdtscp %08x%08x on %x\n", high, low, processor);
  }
  for (unsigned leaf = 0; leaf < 0x10; ++leaf) {
    __cpuid_count(leaf, 0, a, b, c, d);
    printf("cpuid %x: %08x %08x %08x %08x\n", leaf, a, b, c, d);
  }
  __cpuid(1, a, b, c, d);
  if (c & bit_RDRND)
    for (int i = 0; i < 3; ++i) {
      uint64_t wide;
      uint32_t narrow;
      uint16_t word;
      unsigned char fine;
      asm volatile("rdrand %0; setc %1" : "=r"(wide), "=q"(fine) : : "cc");
      printf("rdrand %016lx %d", wide, fine);
      asm volatile("rdrand %0" : "=r"(narrow) : : "cc");
      asm volatile("rdrand %0" : "=r"(word) : : "cc");
      printf(" %08x %04x\n", narrow, word);
    }
  __cpuid_count(7, 0, a, b, c, d);
  if (b & bit_RDSEED) {
    uint64_t seed;
    unsigned char fine;
    asm volatile("rdseed %0; setc %1" : "=r"(seed), "=q"(fine) : : "cc");
    printf("rdseed %016lx %d\n", fine ? seed : 0, fine);
  }
  if (c & bit_RDPID) {
    uint64_t processor;
    asm volatile("rdpid %0" : "=r"(processor));
    printf("rdpid %lx\n", processor);
  }
}

static void show_clocks(void) {
  for (int clock = CLOCK_REALTIME; clock <= CLOCK_BOOTTIME; ++clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) == 0) printf("clock %d: %ld.%09ld\n", clock, now.tv_sec, now.tv_nsec);
  }
  struct timeval time_of_day;
  gettimeofday(&time_of_day, NULL);
  unsigned processor, node;
  syscall(SYS_getcpu, &processor, &node, NULL);
  printf("%ld.%06ld %ld on %u %u\n", time_of_day.tv_sec, time_of_day.tv_usec, (long)time(NULL), processor,
         node);
}

// Where a signal finds the loop is seen in what the loop has made; the flags are live across its back edge.
static void show_loops(void) {
  struct sigaction action = {.sa_handler = on_alarm};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 1000}, {0, 1000}};
  struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  uint64_t sum = 1, carries = 0;
  for (int seen = 0; seen < 20;) {
    asm volatile("add %2, %0; adc $0, %1" : "+r"(sum), "+r"(carries) : "r"(0x9E3779B97F4A7C15ul) : "cc");
    ++counter;
    if (alarms != seen) {
      seen = alarms;
      printf("alarm at %lu: %lx %lx\n", counter, sum, carries);
    }
  }
  setitimer(ITIMER_REAL, &never, NULL);
  int before = alarms;
  alarm(1);
  while (alarms == before)
    ++counter;
  printf("alarm(1) at %lu\n", counter);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  sigprocmask(SIG_BLOCK, &all, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < 5; ++i)
    sigsuspend(&none);
  setitimer(ITIMER_REAL, &never, NULL);
  printf("suspended, %d more\n", alarms - before - 1);
  sigprocmask(SIG_UNBLOCK, &all, NULL);
}

static void show_inotify(void) {
  char folder[] = "inputs-XXXXXX";
  if (mkdtemp(folder) == NULL) return;
  int fd = inotify_init1(IN_CLOEXEC);
  inotify_add_watch(fd, folder, IN_ALL_EVENTS);
  char path[64];
  snprintf(path, sizeof path, "%s/file", folder);
  close(open(path, O_CREAT | O_WRONLY, 0600));
  unlink(path);
  rmdir(folder);
  char events[4096];
  ssize_t size = read(fd, events, sizeof events);
  for (ssize_t at = 0; at < size;) {
    struct inotify_event* event = (struct inotify_event*)(events + at);
    printf("inotify %x %s\n", event->mask, event->len ? event->name : "");
    at += (ssize_t)(sizeof *event + event->len);
  }
  close(fd);
}

// One file at two places; a write through one shows in the other.
static int map_twice(void) {
  char name[] = "twice-XXXXXX";
  int fd = mkstemp(name);
  unlink(name);
  if (ftruncate(fd, 4096) != 0) return 1;
  char* first = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  strcpy(first, "first");
  puts(first);
  fflush(stdout);
  char* second = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  strcpy(first, "changed");
  puts(second);
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "twice") == 0) return map_twice();
  show_instructions();
  show_clocks();
  show_loops();
  show_inotify();
  return 0;
}
