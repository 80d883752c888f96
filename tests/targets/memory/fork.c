// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a forked child gets of its parent's memory: nothing of MADV_DONTFORK, zeroes of MADV_WIPEONFORK, the
// same memory of what is shared. A child by vfork has all of it, and what it maps, unmaps, protects or writes
// is so in its parent, too. A process that changes a file changes the memory of those that have the file
// mapped.
#define _GNU_SOURCE
#include "cases.h"

#include <sched.h>
#include <sys/syscall.h>

static void advise(char* memory, size_t pages, int advice) {
  int result = madvise(memory, pages * kPage, advice);
  say("advice %d: %s\n", advice, error_of(result));
}

static void in_child(const char* what, char* memory, size_t pages) {
  pid_t child = fork();
  if (child == 0) {
    show(what, memory, pages);
    _exit(3);
  }
  show_status("child", wait_for(child));
}

static void left_out(void) {
  char* p = own_pages(4);
  advise(p, 1, MADV_WIPEONFORK);
  advise(p, 1, MADV_DONTFORK);
  advise(p + 2 * kPage, 1, MADV_DONTFORK);
  in_child("in the child", p, 4);
  show("in the parent", p, 4);
  advise(p, 4, MADV_DOFORK);
  in_child("in the second child", p, 4);
  advise(p, 4, MADV_KEEPONFORK);
  in_child("in the third child", p, 4);
}

// Dies of it.
static void left_out_crash(void) {
  char* p = own_pages(1);
  advise(p, 1, MADV_WIPEONFORK);
  advise(p, 1, MADV_DONTFORK);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    _exit(3 + *(volatile char*)p);
  }
  show_status("child", wait_for(child));
}

static void cleared(void) {
  char* p = own_pages(4);
  advise(p + kPage, 2, MADV_WIPEONFORK);
  // What is moved or protected keeps the advice, what is mapped anew does not.
  check(mprotect(p + 2 * kPage, kPage, PROT_READ) == 0, "mprotect");
  check(mmap(p + kPage, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
            MAP_FAILED,
        "mmap");
  p[kPage] = 'n';
  pid_t child = fork();
  if (child == 0) {
    show("in the child", p, 4);
    in_child("in its child", p, 4);
    _exit(0);
  }
  wait_for(child);
  show("in the parent", p, 4);
}

static void advice_errors(void) {
  int fd = letter_file(1);
  char* p = own_pages(4);
  check(mmap(p + 2 * kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED, "mmap");
  advise(p, 4, MADV_WIPEONFORK);
  munmap(p + 2 * kPage, kPage);
  advise(p + kPage, 3, MADV_DONTFORK);
  in_child("in the child", p, 4);
  char* shared = map_pages(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
  advise(shared, 1, MADV_WIPEONFORK);
}

static void shared_left_out(void) {
  char* p = map_pages(2, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
  p[0] = 'a';
  p[kPage] = 'b';
  advise(p, 1, MADV_DONTFORK);
  pid_t child = fork();
  if (child == 0) {
    show("in the child", p, 2);
    p[kPage] = 'c';
    _exit(0);
  }
  wait_for(child);
  show("in the parent", p, 2);
}

static void write_in_child(int protection, int unmaps) {
  int fd = letter_file(2);
  char* p = map_pages(2, protection, MAP_SHARED, fd);
  show("before", p, 2);
  pid_t child = fork();
  if (child == 0) {
    if (unmaps) munmap(p, 2 * kPage);
    check(pwrite(fd, "x", 1, 0) == 1, "pwrite");
    check(lseek(fd, kPage, SEEK_SET) == kPage && write(fd, "y", 1) == 1, "write");
    if (!unmaps) show("in the child", p, 2);
    _exit(0);
  }
  wait_for(child);
  show("after", p, 2);
  check(pwrite(fd, "z", 1, 0) == 1, "pwrite");
  show("own write", p, 2);
}

static void child_writes(void) {
  write_in_child(PROT_READ, 1);
  write_in_child(PROT_READ, 0);
  write_in_child(PROT_READ | PROT_WRITE, 1);
  write_in_child(PROT_READ | PROT_WRITE, 0);
}

// The child makes the mapping writable, and writes there.
static void child_protects(void) {
  int fd = letter_file(1);
  char* p = map_pages(1, PROT_READ, MAP_SHARED, fd);
  pid_t child = fork();
  if (child == 0) {
    check(mprotect(p, kPage, PROT_READ | PROT_WRITE) == 0, "mprotect");
    p[0] = 'x';
    _exit(0);
  }
  wait_for(child);
  show("after", p, 1);
}

// The parent writes, the child looks.
static void parent_writes(void) {
  int fd = letter_file(1);
  char* p = map_pages(1, PROT_READ, MAP_SHARED, fd);
  int go[2];
  int ready[2];
  char byte;
  check(pipe(go) == 0 && pipe(ready) == 0, "pipe");
  pid_t child = fork();
  if (child == 0) {
    show("before", p, 1);
    check(write(ready[1], "r", 1) == 1 && read(go[0], &byte, 1) == 1, "read");
    show("after", p, 1);
    _exit(0);
  }
  munmap(p, kPage);
  check(read(ready[0], &byte, 1) == 1, "read");
  check(pwrite(fd, "x", 1, 0) == 1 && write(go[1], "g", 1) == 1, "write");
  wait_for(child);
}

static char* volatile mapped, * volatile unmapped, * volatile protected_, * volatile moved, * volatile dropped, * volatile file, * volatile replaced, * volatile heap;

static void vfork_maps(void) {
  unmapped = own_pages(1);
  protected_ = own_pages(3);
  moved = own_pages(2);
  dropped = own_pages(2);
  replaced = own_pages(2);
  int fd = letter_file(2);
  char* first_break = sbrk(0);
  pid_t child = vfork();
  if (child == 0) {
    mapped = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped[kPage] = 'm';
    munmap(unmapped, kPage);
    protected_[kPage] = 'p';
    mprotect(protected_ + kPage, kPage, PROT_READ);
    protected_[2 * kPage] = 'q';
    mprotect(protected_ + 2 * kPage, kPage, PROT_NONE);
    moved = mremap(moved, 2 * kPage, 3 * kPage, MREMAP_MAYMOVE);
    moved[2 * kPage] = 'n';
    madvise(dropped, kPage, MADV_DONTNEED);
    mmap(replaced, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    heap = sbrk(kPage);
    heap[0] = 'h';
    _exit(7);
  }
  show_status("child", wait_for(child));
  show("mapped", mapped, 2);
  show("unmapped", unmapped, 1);
  show("protected", protected_, 3);
  show_writable("protected", protected_, 3);
  mprotect(protected_, 3 * kPage, PROT_READ);
  show("protected", protected_, 3);
  show("moved", moved, 3);
  show("dropped", dropped, 2);
  show("replaced", replaced, 2);
  say("heap: %s, %s\n", heap == first_break ? "there" : "elsewhere",
      (char*)sbrk(0) == first_break + kPage ? "grown" : "not grown");
  show("heap", heap, 1);
  close(fd);
}

static void vfork_maps_file(void) {
  char name[] = "vfork-XXXXXX";
  int fd = mkstemp(name);
  check(fd >= 0 && write(fd, "file", 4) == 4, "mkstemp");
  pid_t child = vfork();
  if (child == 0) {
    file = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    file[1] = 'I';
    _exit(0);
  }
  wait_for(child);
  say("file: %.4s\n", file);
  unlink(name);
}

// Until it becomes another program.
static void vfork_execs(void) {
  pid_t child = vfork();
  if (child == 0) {
    mapped = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped[0] = 'm';
    execl("/bin/true", "true", (char*)NULL);
    _exit(127);
  }
  show_status("child", wait_for(child));
  show("mapped", mapped, 1);
}

static void vfork_has_all(void) {
  mapped = own_pages(2);
  advise(mapped, 1, MADV_DONTFORK);
  advise(mapped + kPage, 1, MADV_WIPEONFORK);
  pid_t child = vfork();
  if (child == 0) {
    show("in the child", mapped, 2);
    mapped[0] = 'x';
    _exit(0);
  }
  wait_for(child);
  show("in the parent", mapped, 2);
}

static const struct Case cases[] = {
    {"left_out", left_out},
    {"left_out_crash", left_out_crash},
    {"cleared", cleared},
    {"advice_errors", advice_errors},
    {"shared_left_out", shared_left_out},
    {"child_writes", child_writes},
    {"child_protects", child_protects},
    {"parent_writes", parent_writes},
    {"vfork_maps", vfork_maps},
    {"vfork_maps_file", vfork_maps_file},
    {"vfork_execs", vfork_execs},
    {"vfork_has_all", vfork_has_all},
};

int main(int argc, char** argv) {
  return RUN_CASES(argc, argv);
}
