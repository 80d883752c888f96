// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mprotect and madvise go from mapping to mapping: a call that fails has changed what lies before the place
// where it failed. madvise passes over holes. MADV_DONTNEED_LOCKED drops locked pages, too. PROT_GROWSDOWN
// reaches down to the beginning of a mapping that grows down, and is an error for others.
#define _GNU_SOURCE
#include "cases.h"

#define MADV_DONTNEED_LOCKED_ 24

static void hole(void) {
  char* p = own_pages(3);
  munmap(p + kPage, kPage);
  int result = madvise(p, 3 * kPage, MADV_DONTNEED);
  say("madvise: %s\n", error_of(result));
  show("pages", p, 3);
}

static void several_holes(void) {
  char* p = own_pages(9);
  for (int i = 1; i < 9; i += 3)
    munmap(p + i * kPage, kPage);
  int result = madvise(p, 8 * kPage, MADV_DONTNEED);
  say("madvise: %s\n", error_of(result));
  show("pages", p, 9);
  result = mprotect(p + 2 * kPage, 7 * kPage, PROT_READ);
  say("mprotect: %s\n", error_of(result));
  show_writable("pages", p, 9);
}

static void hole_first(void) {
  char* p = own_pages(2);
  munmap(p, kPage);
  say("madvise: %s\n", error_of(madvise(p, 2 * kPage, MADV_DONTNEED)));
  show("pages", p, 2);
  say("mprotect: %s\n", error_of(mprotect(p, 2 * kPage, PROT_NONE)));
  show("pages", p, 2);
}

static void locked(void) {
  char* p = own_pages(6);
  check(mlock(p + 4 * kPage, kPage) == 0, "mlock");
  say("madvise: %s\n", error_of(madvise(p, 6 * kPage, MADV_DONTNEED)));
  show("pages", p, 6);
  say("madvise: %s\n", error_of(madvise(p + kPage, 5 * kPage, MADV_DONTNEED_LOCKED_)));
  show("pages", p, 6);
}

static void free_over_file(void) {
  char* p = own_pages(4);
  int fd = letter_file(1);
  check(mmap(p + 2 * kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED, "mmap");
  say("madvise: %s\n", error_of(madvise(p + kPage, 3 * kPage, MADV_FREE)));
  // The pages that are freed may hold the old bytes or none: look at the others.
  show("kept", p, 1);
  show("file and after", p + 2 * kPage, 2);
}

static void dropped_file_pages(void) {
  int fd = letter_file(3);
  char* p = map_pages(3, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
  for (int i = 0; i < 3; ++i)
    p[i * kPage] = 'w';
  munmap(p + kPage, kPage);
  check(pwrite(fd, "n", 1, 0) == 1, "pwrite");
  say("madvise: %s\n", error_of(madvise(p, 3 * kPage, MADV_DONTNEED)));
  show("pages", p, 3);
}

static void not_aligned(void) {
  char* p = own_pages(2);
  say("madvise: %s\n", error_of(madvise(p + 1, kPage, MADV_DONTNEED)));
  say("mprotect: %s\n", error_of(mprotect(p + 1, kPage, PROT_NONE)));
  say("length 0: %s\n", error_of(mprotect(p, 0, PROT_NONE)));
  say("unknown advice: %s\n", error_of(madvise(p, kPage, 4711)));
  say("unknown protection: %s\n", error_of(mprotect(p, kPage, 0x100)));
  show("pages", p, 2);
}

static void protect_hole(void) {
  char* p = map_pages(3, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  munmap(p + kPage, kPage);
  say("mprotect: %s\n", error_of(mprotect(p, 3 * kPage, PROT_READ | PROT_WRITE)));
  show_writable("pages", p, 3);
}

// Private memory, a private file, and a shared file that must not be written.
static void protect_kinds(void) {
  int fd = letter_file(2);
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  int read_only = open(name, O_RDONLY);
  check(read_only >= 0, "open");
  char* p = map_pages(4, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  check(mmap(p + kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED, "mmap");
  check(mmap(p + 2 * kPage, kPage, PROT_READ, MAP_SHARED | MAP_FIXED, read_only, kPage) != MAP_FAILED,
        "mmap");
  say("mprotect: %s\n", error_of(mprotect(p, 4 * kPage, PROT_READ | PROT_WRITE)));
  show_writable("pages", p, 4);
  show("pages", p, 4);
}

static void grows_down(void) {
  char* p = map_pages(3, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  say("plain mapping: %s\n", error_of(mprotect(p, kPage, PROT_READ | PROT_GROWSDOWN)));
  say("upwards: %s\n", error_of(mprotect(p, kPage, PROT_READ | PROT_GROWSUP)));
  say("both ways: %s\n", error_of(mprotect(p, kPage, PROT_READ | PROT_GROWSUP | PROT_GROWSDOWN)));
  show_writable("pages", p, 3);
  p = map_pages(3, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1);
  say("growing mapping: %s\n", error_of(mprotect(p + 2 * kPage, kPage, PROT_READ | PROT_GROWSDOWN)));
  show_writable("pages", p, 3);
  char on_stack[64];
  char* page = (char*)((unsigned long)on_stack & ~(unsigned long)(kPage - 1));
  say("stack: %s\n", error_of(mprotect(page, kPage, PROT_READ | PROT_WRITE | PROT_GROWSDOWN)));
}

static const struct Case cases[] = {
    {"hole", hole},
    {"several_holes", several_holes},
    {"hole_first", hole_first},
    {"locked", locked},
    {"free_over_file", free_over_file},
    {"dropped_file_pages", dropped_file_pages},
    {"not_aligned", not_aligned},
    {"protect_hole", protect_hole},
    {"protect_kinds", protect_kinds},
    {"grows_down", grows_down},
};

int main(int argc, char** argv) {
  return RUN_CASES(argc, argv);
}
