// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What can be mapped: /dev/zero gives memory of its own at each mapping; a file that was opened with O_DIRECT
// can be mapped like others; a file of a terabyte that is nearly all hole costs nothing. A program can be
// executed from memory (memfd). The limit of the stack counts from the moment it is set.
#define _GNU_SOURCE
#include "cases.h"

#include <alloca.h>
#include <sys/resource.h>

static void zero_device(void) {
  int fd = open("/dev/zero", O_RDWR);
  check(fd >= 0, "open");
  char* p = map_pages(2, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
  char* q = map_pages(2, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
  p[0] = 'p';
  q[kPage] = 'q';
  show("first", p, 2);
  show("second", q, 2);
  char* shared = map_pages(2, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
  char* other = map_pages(2, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
  close(fd);
  pid_t child = fork();
  if (child == 0) {
    shared[0] = 's';
    p[0] = 'c';
    _exit(0);
  }
  wait_for(child);
  show("private", p, 2);
  show("shared", shared, 2);
  show("another", other, 2);
  p = mremap(p, 2 * kPage, 4 * kPage, MREMAP_MAYMOVE);
  check(p != MAP_FAILED, "mremap");
  show("longer", p, 4);
  int read_only = open("/dev/zero", O_RDONLY);
  p = map_pages(1, PROT_READ | PROT_WRITE, MAP_PRIVATE, read_only);
  p[0] = 'r';
  show("read-only descriptor", p, 1);
}

static void direct(void) {
  char name[] = "direct-XXXXXX";
  int fd = mkstemp(name);
  check(fd >= 0, "mkstemp");
  char page[kPage];
  memset(page, 'd', sizeof page);
  check(write(fd, page, kPage) == kPage && write(fd, "end", 3) == 3, "write");
  int direct_fd = open(name, O_RDWR | O_DIRECT);
  if (direct_fd < 0) direct_fd = open(name, O_RDWR); // not every file system has it
  unlink(name);
  char* p = map_pages(2, PROT_READ, MAP_SHARED, direct_fd);
  show("pages", p, 2);
  char* aligned = own_pages(1);
  check(pwrite(direct_fd, aligned, kPage, 0) == kPage, "pwrite");
  show("written", p, 2);
  memset(aligned, 0, kPage);
  check(pread(direct_fd, aligned, kPage, 0) == kPage, "pread");
  show("read", aligned, 1);
}

static void map_sparse(size_t size) {
  int fd = memfd_create("sparse", 0);
  check(fd >= 0 && ftruncate(fd, (off_t)size) == 0, "memfd_create");
  check(pwrite(fd, "x", 1, 0) == 1 && pwrite(fd, "y", 1, (off_t)(size / 2)) == 1, "pwrite");
  check(pwrite(fd, "z", 1, (off_t)(size - 1)) == 1, "pwrite");
  char* p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  check(p != MAP_FAILED, "mmap");
  say("%c %d %c %c\n", p[0], p[size / 4], p[size / 2], p[size - 1]);
  char* q = mmap(NULL, size, PROT_NONE, MAP_SHARED, fd, 0);
  check(q != MAP_FAILED && mprotect(q + size / 2, kPage, PROT_READ) == 0, "mmap");
  say("%c\n", q[size / 2]);
}

static void sparse(void) {
  map_sparse((size_t)1 << 40);
}

static void sparse_small(void) {
  map_sparse(64 << 20);
}

// A terabyte that can be written, of which a few pages are, and which is dropped and cut off.
static void write_sparse(const char* what, char* p, size_t size) {
  check(p != MAP_FAILED, "mmap");
  p[0] = 'a';
  p[size / 3] = 'b';
  p[size - 1] = 'c';
  say("%s: %c %d %c %c\n", what, p[0], p[size / 4], p[size / 3], p[size - 1]);
  check(madvise(p, size / 2, MADV_DONTNEED) == 0, "madvise");
  say("%s: %d %d %c\n", what, p[0], p[size / 3], p[size - 1]);
}

static void sparse_written(void) {
  size_t size = (size_t)1 << 40;
  int protection = PROT_READ | PROT_WRITE;
  write_sparse("own", mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), size);
  char* all = mmap(NULL, size, protection, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  write_sparse("shared, without a file", all, size);
  check(madvise(all, size / 2, MADV_REMOVE) == 0, "madvise");
  say("%d %d %c\n", all[0], all[size / 3], all[size - 1]);
  check(munmap(all, size) == 0, "munmap");
  for (int shared = 0; shared < 2; ++shared) {
    int fd = memfd_create("sparse", 0);
    check(fd >= 0 && ftruncate(fd, (off_t)size) == 0, "memfd_create");
    check(pwrite(fd, "x", 1, 0) == 1 && pwrite(fd, "y", 1, (off_t)(size / 3)) == 1, "pwrite");
    char* p = mmap(NULL, size, protection, (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_NORESERVE, fd, 0);
    write_sparse(shared ? "shared" : "private", p, size);
    check(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kPage, (off_t)(size / 2)) == 0,
          "fallocate");
    say("%d %d %c\n", p[0], p[size / 3], p[size - 1]);
    check(ftruncate(fd, 1) == 0 && ftruncate(fd, (off_t)size) == 0, "ftruncate");
    say("%d %d %d\n", p[0], p[size / 3], p[size - 1]);
    check(munmap(p, size) == 0 && close(fd) == 0, "munmap");
  }
}

static void executed_from_memory(void) {
  int from = open("/proc/self/exe", O_RDONLY);
  int to = memfd_create("program", 0);
  char bytes[65536];
  for (ssize_t n; (n = read(from, bytes, sizeof bytes)) > 0;)
    check(write(to, bytes, (size_t)n) == n, "write");
  char* argv[] = {"in-memory", "executed", NULL};
  char* environment[] = {NULL};
  fexecve(to, argv, environment);
  check(0, "fexecve");
}

static void executed(void) {
  char link[256] = {0};
  check(readlink("/proc/self/exe", link, sizeof link - 1) > 0, "readlink");
  int fd = open("/proc/self/exe", O_RDONLY);
  char magic[4] = {0};
  check(read(fd, magic, 4) == 4, "read");
  say("executed from %s: %.3s\n", link, magic + 1);
}

// Not in the list: it is refused under rdb.
static void use_stack(size_t size) {
  for (size_t i = 0; i < size / kPage; ++i)
    *(volatile char*)alloca(kPage) = 1;
}

static void with_limit(const char* what, size_t limit, size_t used_before, size_t used_after) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    use_stack(used_before);
    struct rlimit both;
    getrlimit(RLIMIT_STACK, &both);
    both.rlim_cur = limit;
    if (setrlimit(RLIMIT_STACK, &both) != 0) _exit(9);
    use_stack(used_after);
    _exit(0);
  }
  show_status(what, wait_for(child));
}

static void stack_limit(void) {
  const size_t kMega = 1 << 20;
  struct rlimit both;
  getrlimit(RLIMIT_STACK, &both);
  both.rlim_cur = 8 * kMega;
  check(setrlimit(RLIMIT_STACK, &both) == 0, "setrlimit");
  with_limit("64 MB, 20 used", 64 * kMega, 0, 20 * kMega);
  with_limit("64 MB, 70 used", 64 * kMega, 0, 70 * kMega);
  with_limit("1 MB, 4 used", kMega, 0, 4 * kMega);
  with_limit("1 MB, 3 used before", kMega, 3 * kMega, 0);
  with_limit("1 MB, 3 used before, then 2", kMega, 3 * kMega, 2 * kMega);
  with_limit("1 MB, 3 used before, then 4", kMega, 3 * kMega, 4 * kMega);
}

static const struct Case cases[] = {
    {"zero_device", zero_device},
    {"direct", direct},
    {"sparse", sparse},
    {"sparse_small", sparse_small},
    {"sparse_written", sparse_written},
    {"executed_from_memory", executed_from_memory},
    {"stack_limit", stack_limit},
};

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "executed") == 0) {
    executed();
    return 0;
  }
  return RUN_CASES(argc, argv);
}
