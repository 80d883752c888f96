// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that one process has mapped at several places: what is written in one shows in the others.
#define _GNU_SOURCE
#include "cases.h"

#include <stdint.h>

static int memory_object(size_t pages) {
  int fd = memfd_create("object", 0);
  check(fd >= 0 && ftruncate(fd, (off_t)(pages * kPage)) == 0, "memfd");
  return fd;
}

static char* view(int fd, size_t first, size_t pages, int protection) {
  char* result = mmap(NULL, pages * kPage, protection, MAP_SHARED, fd, (off_t)(first * kPage));
  check(result != MAP_FAILED, "mmap");
  return result;
}

static void write_each(char* one, char* other, size_t pages, char from) {
  for (size_t i = 0; i < pages; ++i)
    (i % 2 ? one : other)[i * kPage] = (char)(from + (char)i);
}

static void three_views(void) {
  int fd = memory_object(4);
  char* views[3];
  for (int i = 0; i < 3; ++i)
    views[i] = view(fd, 0, 4, PROT_READ | PROT_WRITE);
  write_each(views[0], views[2], 4, 'a');
  show("second", views[1], 4);
  views[1][kPage + 1] = 'z';
  say("%c %c\n", views[0][kPage + 1], views[2][kPage + 1]);
}

// The first one has been written to before there is a second one.
static void second_view_later(void) {
  int fd = letter_file(3);
  char* one = view(fd, 0, 3, PROT_READ | PROT_WRITE);
  one[0] = 'X';
  char* other = view(fd, 0, 3, PROT_READ | PROT_WRITE);
  show("other", other, 3);
  other[2 * kPage] = 'Y';
  show("one", one, 3);
}

static void read_only_beside(void) {
  int fd = letter_file(2);
  char* reader = view(fd, 0, 2, PROT_READ);
  show("reader", reader, 2);
  char* writer = view(fd, 0, 2, PROT_READ | PROT_WRITE);
  writer[kPage] = 'W';
  show("reader", reader, 2);
}

static void made_writable(void) {
  int fd = letter_file(1);
  char* p = view(fd, 0, 1, PROT_READ);
  char* q = view(fd, 0, 1, PROT_READ);
  check(mprotect(p, kPage, PROT_READ | PROT_WRITE) == 0, "mprotect");
  p[0] = 'n';
  show("other", q, 1);
}

// Parts that overlap, each of which begins elsewhere in the object.
static void overlapping_parts(void) {
  int fd = letter_file(6);
  char* low = view(fd, 0, 4, PROT_READ | PROT_WRITE);
  char* high = view(fd, 2, 4, PROT_READ | PROT_WRITE);
  low[3 * kPage] = 'L';
  high[0] = 'H';
  show("low", low, 4);
  show("high", high, 4);
}

// Nothing has the middle mapped while calls change it.
static void unmapped_meanwhile(void) {
  int fd = letter_file(4);
  char* one = view(fd, 0, 4, PROT_READ | PROT_WRITE);
  char* other = view(fd, 0, 2, PROT_READ | PROT_WRITE);
  other[0] = 'A';
  check(munmap(one, 4 * kPage) == 0, "munmap");
  check(pwrite(fd, "Q", 1, 3 * kPage) == 1, "pwrite");
  check(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2 * kPage, kPage) == 0, "fallocate");
  one = view(fd, 0, 4, PROT_READ | PROT_WRITE);
  show("one", one, 4);
  one[kPage] = 'B';
  show("other", other, 2);
}

static void calls_change_it(void) {
  int fd = letter_file(3);
  char* one = view(fd, 0, 3, PROT_READ | PROT_WRITE);
  char* other = view(fd, 0, 3, PROT_READ | PROT_WRITE);
  check(pwrite(fd, "pq", 2, kPage - 1) == 2, "pwrite");
  int source = letter_file(1);
  check(pread(source, one + 2 * kPage, 5, 0) == 5, "pread");
  say("%c %c %c\n", one[kPage - 1], other[kPage], other[2 * kPage]);
  check(madvise(one, kPage, MADV_DONTNEED) == 0, "madvise");
  show("one", one, 3);
  check(madvise(other + kPage, kPage, MADV_REMOVE) == 0, "madvise");
  show("one", one, 3);
  show("other", other, 3);
}

// As java's ZGC moves its heap about.
static void pages_come_and_go(void) {
  enum { kUnits = 8 };
  int fd = memory_object(kUnits);
  char* base = mmap(NULL, 3 * kUnits * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(base != MAP_FAILED, "mmap");
  uint32_t random = 7;
  uint32_t sum = 0;
  for (int turn = 0; turn < 400; ++turn) {
    random = random * 1103515245 + 12345;
    size_t unit = random >> 16 & (kUnits - 1);
    size_t place = random >> 20 & (kUnits - 1);
    char* at[3];
    for (size_t i = 0; i < 3; ++i) {
      at[i] = base + (i * kUnits + place) * kPage;
      check(mmap(at[i], kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)(unit * kPage)) ==
                at[i],
            "mmap");
    }
    at[turn % 3][turn % 64] += (char)turn;
    for (size_t i = 0; i < 64; ++i)
      sum = sum * 31 + (unsigned char)at[(turn + 1) % 3][i];
    if (turn % 5 == 0)
      for (size_t i = 0; i < 3; ++i)
        check(mmap(at[i], kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at[i], "mmap");
    if (turn % 23 == 0)
      check(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(unit * kPage), kPage) == 0,
            "fallocate");
  }
  say("%u\n", sum);
}

// Code that is written in one place and executed in another.
static void code(void) {
  int fd = memory_object(1);
  unsigned char* writer = (unsigned char*)view(fd, 0, 1, PROT_READ | PROT_WRITE);
  int (*function)(void) = (int (*)(void))(uintptr_t)view(fd, 0, 1, PROT_READ | PROT_EXEC);
  for (int i = 0; i < 40; ++i) {
    const unsigned char text[] = {0xb8, (unsigned char)i, 0, 0, 0, 0xc3}; // mov eax, i; ret
    memcpy(writer, text, sizeof text);
    int sum = 0;
    for (int k = 0; k < 100; ++k)
      sum += function();
    if (sum != 100 * i) say("wrong: %d\n", sum);
  }
  say("code %d\n", function());
}

static void moved_view(void) {
  int fd = letter_file(2);
  char* one = view(fd, 0, 2, PROT_READ | PROT_WRITE);
  char* other = view(fd, 0, 2, PROT_READ | PROT_WRITE);
  char* place = map_pages(2, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  char* moved = mremap(other, 2 * kPage, 2 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, place);
  check(moved == place, "mremap");
  moved[0] = 'M';
  one[kPage] = 'O';
  show("one", one, 2);
  show("moved", moved, 2);
}

static const struct Case cases[] = {
    {"three_views", three_views},
    {"second_view_later", second_view_later},
    {"read_only_beside", read_only_beside},
    {"made_writable", made_writable},
    {"overlapping_parts", overlapping_parts},
    {"unmapped_meanwhile", unmapped_meanwhile},
    {"calls_change_it", calls_change_it},
    {"pages_come_and_go", pages_come_and_go},
    {"code", code},
    {"moved_view", moved_view},
};

int main(int argc, char** argv) {
  return RUN_CASES(argc, argv);
}
