// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addresses that a program cannot have under rdb, and a hundred reservations of a terabyte each. The calls
// "fixed", "moved", "attached" with an address ask for what cannot be given.
#define _GNU_SOURCE
#include "cases.h"

#include <stdint.h>
#include <sys/ipc.h>
#include <sys/shm.h>

enum { kRanges = 5 };

// In the middle of what rdb needs: its program, its libraries and stacks, the code cache, its own code,
// tables.
static const uintptr_t ranges[kRanges] = {0x555555556000, 0x7ffff0000000, 0x60000000, 0x70000000, 0x7f000000};
static const int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

static const char* place_of(const void* memory, uintptr_t wanted) {
  return memory == MAP_FAILED ? strerrorname_np(errno) : memory == (void*)wanted ? "there" : "elsewhere";
}

static void hints(void) {
  for (int i = 0; i < kRanges; ++i) {
    char* memory = mmap((void*)ranges[i], 4 * kPage, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    say("%d: %s\n", i, place_of(memory, ranges[i]));
    memset(memory, 'x', 4 * kPage);
  }
}

static void no_replace(void) {
  for (int i = 0; i < kRanges; ++i)
    say("%d: %s\n", i,
        place_of(mmap((void*)ranges[i], kPage, PROT_READ, kFlags | MAP_FIXED_NOREPLACE, -1, 0), ranges[i]));
}

// From before a range to after it: the program's own memory on both sides goes, and nothing else does.
static void unmap_across(void) {
  char* before = mmap((void*)0x5fff0000, kPage, PROT_READ | PROT_WRITE, kFlags | MAP_FIXED, -1, 0);
  char* after = mmap((void*)0x78000000, kPage, PROT_READ | PROT_WRITE, kFlags | MAP_FIXED, -1, 0);
  check(before != MAP_FAILED && after != MAP_FAILED, "mmap");
  before[0] = after[0] = 'm';
  show("before", before, 1);
  show("after", after, 1);
  say("munmap: %s\n", error_of(munmap(before, (size_t)(after + kPage - before))));
  show("before", before, 1);
  show("after", after, 1);
}

// Calls that take a range and change no place.
static void other_calls(void) {
  for (int i = 0; i < kRanges; ++i) {
    void* place = (void*)ranges[i];
    say("%d: mprotect %s", i, error_of(mprotect(place, kPage, PROT_NONE)));
    say(", madvise %s", error_of(madvise(place, kPage, MADV_DONTNEED)));
    say(", mremap %s", mremap(place, kPage, 2 * kPage, MREMAP_MAYMOVE) == MAP_FAILED ? error_of(-1) : "done");
    say(", shmdt %s\n", error_of(shmdt(place)));
  }
}

// Up to what is in the way.
static void grow_break(void) {
  char* begin = sbrk(0);
  uintptr_t step = (uintptr_t)1 << 44;
  uintptr_t grown = 0;
  for (; step >= (1u << 20); step /= 2)
    if (brk(begin + grown + step) == 0) grown += step;
  say("grown by at least a gigabyte: %s\n", grown >= (1u << 30) ? "yes" : "no");
  begin[0] = begin[grown - 1] = 'b';
  show("first", begin, 1);
  say("smaller: %s\n", error_of(brk(begin)));
  show("first", begin, 1);
}

static char* terabytes[100];

// What nobody has written to costs nothing, whatever is done with it.
static void reserve(int protection) {
  const size_t size = (size_t)1 << 40;
  int count = 0;
  for (int i = 0; i < 100; ++i) {
    terabytes[i] = mmap(NULL, size, PROT_NONE, kFlags, -1, 0);
    if (terabytes[i] == MAP_FAILED) break;
    ++count;
  }
  say("reserved %d\n", count);
  for (int i = 0; i < count; ++i) {
    char* middle = terabytes[i] + size / 2;
    check(mprotect(terabytes[i], size, protection) == 0, "mprotect");
    if (protection != PROT_NONE) middle[0] = (char)('a' + i % 26);
    if (i % 2) check(madvise(terabytes[i], size, MADV_DONTNEED) == 0, "madvise");
    if (i % 3 == 0) check(mprotect(terabytes[i] + size / 4, size / 8, PROT_READ) == 0, "mprotect");
    if (i % 4 == 0) check(munmap(terabytes[i] + size / 4 * 3, size / 8) == 0, "munmap");
  }
  show("kept", terabytes[2] + size / 2, 1);
  show("dropped", terabytes[3] + size / 2, 1);
}

static void reserved(void) {
  reserve(PROT_NONE);
}

static void reserved_writable(void) {
  reserve(PROT_READ | PROT_WRITE);
}

static void reserved_and_forked(void) {
  reserve(PROT_READ | PROT_WRITE);
  for (int i = 0; i < 3; ++i) {
    pid_t child = fork();
    if (child == 0) {
      terabytes[i][5] = 'c';
      _exit(terabytes[2][(size_t)1 << 39]);
    }
    show_status("child", wait_for(child));
  }
  show("parent", terabytes[0] + 5, 1);
}

static int ask(const char* how, uintptr_t place) {
  void* result = NULL;
  if (strcmp(how, "fixed") == 0)
    result = mmap((void*)place, kPage, PROT_READ, kFlags | MAP_FIXED, -1, 0);
  else if (strcmp(how, "across") == 0) // begins before it
    result = mmap((void*)(place - 0x100000000), 0x200000000, PROT_READ, kFlags | MAP_FIXED, -1, 0);
  else if (strcmp(how, "moved") == 0)
    result = mremap(own_pages(2), 2 * kPage, 2 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, (void*)place);
  else if (strcmp(how, "attached") == 0) {
    int id = shmget(IPC_PRIVATE, kPage, 0600);
    // Attached once, it can be attached again, and goes with this process.
    check(id >= 0 && shmat(id, NULL, 0) != (void*)-1 && shmctl(id, IPC_RMID, NULL) == 0, "shmget");
    result = shmat(id, (void*)place, SHM_REMAP);
  } else
    return 2;
  say("%s\n", place_of(result, place));
  return 0;
}

static const struct Case cases[] = {
    {"hints", hints},
    {"no_replace", no_replace},
    {"unmap_across", unmap_across},
    {"other_calls", other_calls},
    {"grow_break", grow_break},
    {"reserved", reserved},
    {"reserved_writable", reserved_writable},
    {"reserved_and_forked", reserved_and_forked},
};

int main(int argc, char** argv) {
  if (argc == 3) return ask(argv[1], strtoul(argv[2], NULL, 0));
  return RUN_CASES(argc, argv);
}
