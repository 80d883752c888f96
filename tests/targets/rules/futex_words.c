// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// futex refuses operations, words and counts that make no sense, each with its own error and before it
// changes anything.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096, kUnknown = 99 };

static struct {
  const char* name;
  uint64_t address;
} words[] = {{"word", 0},
             {"unaligned", 0},
             {"end", 0},
             {"read-only", 0},
             {"unaligned-read-only", 0},
             {"forbidden", 0},
             {"unmapped", 0},
             {"in-file", 0},
             {"null", 0},
             {"one", 1},
             {"kernel", 0xffff800000000000}};
enum { kWords = sizeof words / sizeof words[0] };

static unsigned char* memory;

static void make_words(const char* file) {
  memory = mmap(NULL, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(memory + kPage, kPage, PROT_READ);
  mprotect(memory + 2 * kPage, kPage, PROT_NONE);
  FILE* opened = fopen(file, "r");
  void* in_file = mmap(NULL, kPage, PROT_READ, MAP_PRIVATE, fileno(opened), 0);
  fclose(opened);
  munmap(memory + 3 * kPage, kPage); // last, so that nothing is mapped there again
  const unsigned offsets[] = {64, 65, kPage - 2, kPage, kPage + 2, 2 * kPage, 3 * kPage};
  for (unsigned i = 0; i < sizeof offsets / sizeof offsets[0]; ++i)
    words[i].address = (uint64_t)memory + offsets[i];
  words[7].address = (uint64_t)in_file;
}

static int has_two_words(int command) {
  return command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE || command == FUTEX_WAKE_OP ||
         command == FUTEX_WAIT_REQUEUE_PI || command == FUTEX_CMP_REQUEUE_PI;
}

static void try(int operation, int first, int second, uint32_t count, uint64_t fourth, uint32_t third) {
  memset(memory, 0, kPage);
  long result =
      syscall(SYS_futex, words[first].address, operation, count, fourth, words[second].address, third);
  const char* error = result < 0 ? strerrorname_np(errno) : "done";
  unsigned changed = 0;
  for (unsigned i = 0; i < kPage; ++i)
    changed += memory[i] != 0;
  // How many bytes a lock changes depends on the number of the thread.
  printf("%#x %s %s %d %d: %s %d\n", operation, words[first].name, words[second].name, (int)count, third != 0,
         error, changed != 0);
}

// The word of a lock is marked before its owner, which is no thread, is looked for.
static void try_orphan(int command) {
  uint32_t* word = (uint32_t*)memory;
  *word = FUTEX_TID_MASK;
  long result = syscall(SYS_futex, word, command, 0, NULL, NULL, 0);
  printf("orphan %#x: %s %#x\n", command, result < 0 ? strerrorname_np(errno) : "done", *word);
}

struct entry {
  uint64_t value;
  uint64_t address;
  uint32_t flags;
  uint32_t reserved;
};

// The second entry is like this; the first one waits, or has another value.
static void try_two(const char* name, struct entry second) {
  memset(memory, 0, kPage);
  for (uint64_t value = 0; value < 2; ++value) {
    struct entry entries[] = {{value, (uint64_t)memory, FUTEX_32, 0}, second};
    const struct timespec past = {0, 1};
    long result = syscall(SYS_futex_waitv, entries, 2, 0, &past, CLOCK_MONOTONIC);
    printf("waitv %s after %d: %s\n", name, (int)value, result < 0 ? strerrorname_np(errno) : "woken");
  }
}

static void try_entries(void) {
  uint64_t word = (uint64_t)memory + 8;
  for (int i = 0; i < kWords; ++i) {
    try_two(words[i].name, (struct entry){1, words[i].address, FUTEX_32, 0});
    try_two(words[i].name, (struct entry){1, words[i].address, FUTEX_32 | FUTEX_PRIVATE_FLAG, 0});
  }
  try_two("good", (struct entry){0, word, FUTEX_32, 0});
  try_two("no size", (struct entry){0, word, 0, 0});
  try_two("unknown flag", (struct entry){0, word, FUTEX_32 | 1 << 16, 0});
  try_two("reserved", (struct entry){0, word, FUTEX_32, 1});
  long result = syscall(SYS_futex_waitv, NULL, 1, 0, NULL, 0);
  printf("waitv of nothing: %ld %s\n", result, strerrorname_np(errno));
  result = syscall(SYS_futex_waitv, memory, 1, 0, 8, 99);
  printf("waitv by no clock: %ld %s\n", result, strerrorname_np(errno));
}

int main(int argc, char** argv) {
  (void)argc;
  make_words(argv[0]);
  static const int kCommands[] = {FUTEX_WAIT,           FUTEX_WAKE,        2,
                                  FUTEX_REQUEUE,        FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP,
                                  FUTEX_LOCK_PI,        FUTEX_UNLOCK_PI,   FUTEX_TRYLOCK_PI,
                                  FUTEX_WAIT_BITSET,    FUTEX_WAKE_BITSET, FUTEX_WAIT_REQUEUE_PI,
                                  FUTEX_CMP_REQUEUE_PI, FUTEX_LOCK_PI2,    kUnknown};
  const struct timespec soon = {0, 1000};
  for (unsigned i = 0; i < sizeof kCommands / sizeof kCommands[0]; ++i) {
    int command = kCommands[i];
    int counted = command >= FUTEX_REQUEUE && command <= FUTEX_WAKE_OP;
    uint64_t fourth = counted || command == FUTEX_CMP_REQUEUE_PI ? 1 : (uint64_t)&soon;
    uint32_t third = command == FUTEX_WAKE_OP ? FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0) : 0;
    if (command == FUTEX_WAIT_BITSET || command == FUTEX_WAKE_BITSET) third = 1;
    for (int private = 0; private <= FUTEX_PRIVATE_FLAG; private += FUTEX_PRIVATE_FLAG)
      for (int first = 0; first < kWords; ++first)
        for (int second = 0; second < (has_two_words(command) ? kWords : 1); ++second)
          try(command | private, first, second, 1, fourth, third);
    try(command, 0, 0, (uint32_t)-1, fourth, third);
    try(command, 0, 0, 0, fourth, 0);
    if (counted) try(command, 0, 0, 1, (uint64_t)-1, third);
    if (command != FUTEX_WAIT && command != FUTEX_LOCK_PI && command != FUTEX_LOCK_PI2)
      try(command | FUTEX_CLOCK_REALTIME, 0, 0, 1, fourth, third);
  }
  try_entries();
  try_orphan(FUTEX_LOCK_PI);
  try_orphan(FUTEX_TRYLOCK_PI);
}
