// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A mapping of a file shows what the file holds, also where the file has grown since, and where mremap has
// made the mapping longer. Neighbouring mappings of one file are one for mremap. What lies behind the end of
// the file raises SIGBUS.
#define _GNU_SOURCE
#include "cases.h"

#include <sys/syscall.h>

enum Kind { kReadOnly, kPrivate, kWritable };
enum Growth { kTruncate, kWrite };
enum Longer { kMove, kInPlace, kFromStart };

static void grow(enum Kind kind, enum Growth growth, enum Longer longer) {
  int fd = letter_file(2);
  int protection = kind == kReadOnly ? PROT_READ : PROT_READ | PROT_WRITE;
  size_t pages = longer == kFromStart ? 4 : 2;
  char* room = map_pages(16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  munmap(room, 16 * kPage);
  char* p =
      mmap(room, pages * kPage, protection, (kind == kPrivate ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED, fd, 0);
  check(p != MAP_FAILED, "mmap");
  if (kind == kPrivate) p[kPage] = 'p';
  if (growth == kTruncate) {
    check(ftruncate(fd, 4 * kPage) == 0, "ftruncate");
  } else {
    char bytes[2 * kPage];
    memset(bytes, 'g', sizeof bytes);
    check(pwrite(fd, bytes, sizeof bytes, 2 * kPage) == (ssize_t)sizeof bytes, "pwrite");
  }
  if (longer == kMove) { // where it is there is no room
    char* in_the_way = mmap(p + 2 * kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    check(in_the_way != MAP_FAILED, "mmap");
    p = mremap(p, 2 * kPage, 4 * kPage, MREMAP_MAYMOVE);
  }
  if (longer == kInPlace) p = mremap(p, 2 * kPage, 4 * kPage, 0);
  check(p != MAP_FAILED, "mremap");
  show("before", p, 4);
  check(pwrite(fd, "d", 1, 3 * kPage) == 1, "pwrite");
  show("after", p, 4);
  if (kind == kPrivate) {
    p[2 * kPage] = 'q';
    check(pwrite(fd, "e", 1, 2 * kPage) == 1 && pwrite(fd, "f", 1, 0) == 1, "pwrite");
    show("own page", p, 4);
  }
  check(ftruncate(fd, kPage) == 0, "ftruncate");
  show("shorter", p, 4);
  check(ftruncate(fd, 4 * kPage) == 0, "ftruncate");
  show("longer", p, 4);
}

static void all_growth(void) {
  for (int kind = kReadOnly; kind <= kWritable; ++kind)
    for (int growth = kTruncate; growth <= kWrite; ++growth)
      for (int longer = kMove; longer <= kFromStart; ++longer) {
        say("kind %d growth %d longer %d\n", kind, growth, longer);
        grow(kind, growth, longer);
      }
}

// The mapping is longer than the file, then the file grows.
static void mapping_first(void) {
  int fd = letter_file(1);
  char* p = map_pages(1, PROT_READ, MAP_SHARED, fd);
  p = mremap(p, kPage, 5 * kPage, MREMAP_MAYMOVE);
  check(p != MAP_FAILED, "mremap");
  show("longer than the file", p, 5);
  check(pwrite(fd, "x", 1, 2 * kPage) == 1, "pwrite");
  show("file grown", p, 5);
  p = mremap(p, 5 * kPage, 2 * kPage, 0);
  check(p != MAP_FAILED, "mremap");
  show("shorter", p, 3);
  p = mremap(p, 2 * kPage, 3 * kPage, MREMAP_MAYMOVE);
  check(p != MAP_FAILED, "mremap");
  show("longer again", p, 3);
}

static void neighbours(void) {
  int fd = letter_file(2);
  // One page more than the file, and its first page mapped once more: one mapping for the kernel.
  char* p = map_pages(3, PROT_READ, MAP_PRIVATE, fd);
  check(mmap(p, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED, "mmap");
  char* q = mremap(p, 3 * kPage, 4 * kPage, MREMAP_MAYMOVE);
  say("mremap: %s\n", q == MAP_FAILED ? strerrorname_np(errno) : "no error");
  if (q != MAP_FAILED) show("pages", q, 4);
  // Of different kinds.
  p = own_pages(2);
  check(mprotect(p, kPage, PROT_READ) == 0, "mprotect");
  q = mremap(p, 2 * kPage, 3 * kPage, MREMAP_MAYMOVE);
  say("two kinds: %s\n", q == MAP_FAILED ? strerrorname_np(errno) : "no error");
  // Readable and executable are different kinds, too.
  check(mprotect(p, kPage, PROT_READ | PROT_EXEC) == 0 && mprotect(p + kPage, kPage, PROT_READ) == 0,
        "mprotect");
  q = mremap(p, 2 * kPage, 3 * kPage, MREMAP_MAYMOVE);
  say("executable: %s\n", q == MAP_FAILED ? strerrorname_np(errno) : "no error");
  show("pages", p, 2);
}

// Each mmap of shared memory makes an object of its own: two of them are never one mapping.
static void shared_neighbours(void) {
  for (int of_device = 0; of_device < 2; ++of_device) {
    int fd = of_device ? open("/dev/zero", O_RDWR) : -1;
    int flags = MAP_SHARED | (of_device ? 0 : MAP_ANONYMOUS);
    char* room = map_pages(8, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    char* p = room + kPage;
    for (int i = 0; i < 2; ++i)
      check(mmap(p + i * kPage, kPage, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0) != MAP_FAILED,
            "mmap");
    p[0] = 'p';
    p[kPage] = 'q';
    say("in place: %s\n", error_of((long)mremap(p, 2 * kPage, 3 * kPage, 0)));
    say("elsewhere: %s\n", error_of((long)mremap(p, 2 * kPage, 3 * kPage, MREMAP_MAYMOVE)));
    show("both", p, 2);
    // The parts of one are one again.
    p = mmap(p, 4 * kPage, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
    check(p != MAP_FAILED && mprotect(p + kPage, kPage, PROT_READ) == 0, "mprotect");
    say("two kinds: %s\n", error_of((long)mremap(p, 4 * kPage, 5 * kPage, 0)));
    check(mprotect(p + kPage, kPage, PROT_READ | PROT_WRITE) == 0, "mprotect");
    say("one: %s\n", error_of((long)mremap(p, 4 * kPage, 5 * kPage, 0)));
    check(munmap(room, 8 * kPage) == 0, "munmap");
  }
}

static void parts(void) {
  char* p = own_pages(6);
  // A part of a mapping cannot grow where it is.
  char* q = mremap(p + kPage, kPage, 2 * kPage, 0);
  say("in place: %s\n", q == MAP_FAILED ? strerrorname_np(errno) : "no error");
  q = mremap(p + kPage, kPage, 2 * kPage, MREMAP_MAYMOVE);
  check(q != MAP_FAILED, "mremap");
  show("moved", q, 2);
  show("left", p, 6);
  // To an address that is given.
  char* there = map_pages(3, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  q = mremap(p + 3 * kPage, 3 * kPage, 2 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, there + kPage);
  say("fixed: %s\n", q == there + kPage ? "there" : strerrorname_np(errno));
  show("there", there, 3);
  show("left", p, 6);
  say("without MREMAP_MAYMOVE: %s\n",
      mremap(p, kPage, kPage, MREMAP_FIXED, there) == MAP_FAILED ? strerrorname_np(errno) : "no error");
  say("nothing there: %s\n", mremap(p + kPage, kPage, 2 * kPage, MREMAP_MAYMOVE) == MAP_FAILED
                                 ? strerrorname_np(errno)
                                 : "no error");
}

// The C library gives the kernel no address here, but what happens to be in a register.
static char* move_and_keep(char* memory, size_t pages) {
  return (char*)syscall(SYS_mremap, memory, pages * kPage, pages * kPage, MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
                        0);
}

static void left_behind(void) {
  char* p = own_pages(2);
  char* q = move_and_keep(p, 2);
  check(q != MAP_FAILED, "mremap");
  show("moved", q, 2);
  show("left behind", p, 2);
  int fd = letter_file(2);
  p = map_pages(2, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
  p[0] = 'w';
  check(pwrite(fd, "n", 1, 0) == 1, "pwrite");
  q = move_and_keep(p, 2);
  if (q == MAP_FAILED) return; // kernels before 5.13
  show("moved", q, 2);
  show("left behind", p, 2);
}

// A length of 0 makes a second mapping of what is shared.
static void twice(void) {
  int fd = letter_file(2);
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  int read_only = open(name, O_RDONLY);
  char* p = map_pages(2, PROT_READ, MAP_SHARED, read_only);
  check(pwrite(fd, "n", 1, 0) == 1, "pwrite");
  char* q = mremap(p, 0, 2 * kPage, MREMAP_MAYMOVE);
  check(q != MAP_FAILED, "mremap");
  show("second", q, 2);
  check(pwrite(fd, "m", 1, kPage) == 1, "pwrite");
  show("first", p, 2);
  show("second", q, 2);
}

// Nothing can be read there when it grows.
static void not_readable(void) {
  int fd = letter_file(3);
  char* p = map_pages(1, PROT_NONE, MAP_PRIVATE, fd);
  p = mremap(p, kPage, 3 * kPage, MREMAP_MAYMOVE);
  check(p != MAP_FAILED, "mremap");
  show("pages", p, 3);
  check(mprotect(p, 3 * kPage, PROT_READ) == 0, "mprotect");
  show("pages", p, 3);
}

static void punched(void) {
  int fd = letter_file(4);
  char* p = map_pages(4, PROT_READ, MAP_SHARED, fd);
  check(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kPage, kPage) == 0, "fallocate");
  show("punched", p, 4);
}

static const struct Case cases[] = {
    {"all_growth", all_growth},
    {"mapping_first", mapping_first},
    {"neighbours", neighbours},
    {"parts", parts},
    {"left_behind", left_behind},
    {"twice", twice},
    {"not_readable", not_readable},
    {"punched", punched},
    {"shared_neighbours", shared_neighbours},
};

int main(int argc, char** argv) {
  return RUN_CASES(argc, argv);
}
