// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Mappings that grow down where memory before their begin is accessed, and what keeps them from it.
#define _GNU_SOURCE
#include "cases.h"

#include <sys/resource.h>

static const size_t kRoom = 64 << 20;
static const size_t kMega = 1 << 20;

// The end of a stretch in which there is nothing but one page that grows down, at its end.
static char* map_growing(int protection) {
  char* room = mmap(NULL, kRoom + 4 * kMega, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(room != MAP_FAILED && munmap(room, kRoom + 4 * kMega) == 0, "mmap");
  char* end = room + 2 * kMega + kRoom;
  char* page =
      mmap(end - kPage, kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
  check(page == end - kPage, "mmap");
  return end;
}

static const char* store(volatile char* to) {
  int number = sigsetjmp(escape_, 1);
  if (number == 0) *to = 's';
  return number == 0 ? "stored" : number == SIGBUS ? "SIGBUS" : "SIGSEGV";
}

static void try_at(char* end, size_t distance) {
  say("%zu before the end: %s", distance, store(end - distance));
  say(", then %s\n", look(end - distance));
}

static void grows(void) {
  char* end = map_growing(PROT_READ | PROT_WRITE);
  try_at(end, 1);
  try_at(end, kPage + 1);
  try_at(end, 100 * kPage);
  say("between: %s\n", look(end - 50 * kPage));
  mprotect(end - 60 * kPage, 10 * kPage, PROT_READ);
  try_at(end, 200 * kPage);
  say("protected: %s\n", store(end - 55 * kPage));
  check(munmap(end - 70 * kPage, kPage) == 0, "munmap");
  try_at(end, 70 * kPage); // what is before it is near, and does not keep it away
}

// A program's own stack, on which functions are called.
static int depth_of(int count) {
  volatile char used[3000];
  used[0] = (char)count;
  return count == 0 ? used[0] : 1 + depth_of(count - 1);
}

static void as_a_stack(void) {
  char* end = map_growing(PROT_READ | PROT_WRITE);
  int result = 200;
  asm volatile("mov %%rsp, %%rbx\n\t"
               "mov %1, %%rsp\n\t"
               "call *%2\n\t"
               "mov %%rbx, %%rsp"
               : "+D"(result)
               : "r"(end), "r"(depth_of)
               : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory");
  say("far down: %s\n", strlen(look(end - 150 * kPage)) == 1 ? "there" : "not there");
}

static void stays_away(void) {
  static const int kProtections[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE};
  for (size_t i = 0; i < 3; ++i) {
    char* end = map_growing(PROT_READ | PROT_WRITE);
    char* other =
        mmap(end - 8 * kMega, kPage, kProtections[i], MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    check(other != MAP_FAILED, "mmap");
    size_t distance = 8 * kMega - kPage;
    try_at(end, distance - kMega - kPage);
    try_at(end, distance - kMega);
    try_at(end, distance - kMega + 1);
    try_at(end, distance);
    char* more = mmap(end - 4 * kMega, kPage, kProtections[i], MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("a place that is in use: %s\n", more == end - 4 * kMega ? "given" : "not given");
  }
}

static void limited(void) {
  struct rlimit limit = {2 * kMega, 2 * kMega};
  check(setrlimit(RLIMIT_STACK, &limit) == 0, "setrlimit");
  char* end = map_growing(PROT_READ | PROT_WRITE);
  try_at(end, kMega);
  try_at(end, 2 * kMega + 1);
  try_at(end, 2 * kMega);
}

static void not_accessible(void) {
  char* end = map_growing(PROT_READ);
  try_at(end, kPage + 1);
  end = map_growing(PROT_NONE);
  try_at(end, kPage + 1);
}

static void other_kinds(void) {
  int fd = letter_file(1);
  int kinds[] = {MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED, MAP_PRIVATE};
  for (size_t i = 0; i < 3; ++i) {
    void* result = mmap(NULL, kPage, PROT_READ, kinds[i] | MAP_GROWSDOWN, fd, 0);
    say("%zu: %s\n", i, error_of(result == MAP_FAILED ? -1 : 0));
  }
}

// Not in the list: the kernel itself makes it grow, which is refused under rdb.
static void by_call(void) {
  char* end = map_growing(PROT_READ | PROT_WRITE);
  ssize_t result = pread(letter_file(1), end - 3 * kPage, 10, 0);
  say("pread: %zd %s\n", result, error_of(result));
}

// What has grown in a child by vfork has grown in its parent.
static void in_a_vfork_child(void) {
  char* end = map_growing(PROT_READ | PROT_WRITE);
  pid_t child = vfork();
  if (child == 0) {
    end[-20 * kPage] = 'v';
    end[-1] = 'w';
    _exit(0);
  }
  wait_for(child);
  say("grown: %s\n", look(end - 20 * kPage));
  say("between: %s\n", look(end - 10 * kPage));
  say("the first page: %s\n", look(end - 1));
  try_at(end, 30 * kPage);
}

static const struct Case cases[] = {
    {"grows", grows},
    {"as_a_stack", as_a_stack},
    {"stays_away", stays_away},
    {"limited", limited},
    {"not_accessible", not_accessible},
    {"other_kinds", other_kinds},
    {"in_a_vfork_child", in_a_vfork_child},
};

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "by_call") == 0) {
    by_call();
    return 0;
  }
  return RUN_CASES(argc, argv);
}
