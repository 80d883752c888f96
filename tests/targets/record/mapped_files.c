// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Changes files while they are mapped, in every way a program can, and prints what the mappings hold.
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kPage = 4096, kSize = 4 * kPage };

static unsigned char *shared_view, *private_view;
static sigjmp_buf escape;

static void check(int fine, const char* what) {
  if (fine) return;
  perror(what);
  exit(1);
}

static void on_bus(int number) {
  (void)number;
  siglongjmp(escape, 1);
}

static unsigned long sum(const unsigned char* at, size_t size) {
  unsigned long h = 5381;
  for (size_t i = 0; i < size; ++i)
    h = h * 33 + at[i];
  return h;
}

static void show(const char* what) {
  printf("%-16s", what);
  for (int page = 0; page < kSize / kPage; ++page) {
    if (sigsetjmp(escape, 1) == 0)
      printf(" %016lx/%016lx", sum(shared_view + page * kPage, kPage),
             sum(private_view + page * kPage, kPage));
    else
      printf(" behind the end");
  }
  printf("\n");
}

int main(void) {
  char name[] = "mapped-XXXXXX";
  int fd = mkstemp(name);
  check(fd >= 0, "mkstemp");
  char page[kPage];
  // Bytes that no other run has: what replay shows can only come from the log.
  unsigned seed = (unsigned)getpid() * 2654435761u;
  for (int i = 0; i < kPage; ++i)
    page[i] = (char)(seed >> (i % 24));
  for (int i = 0; i < kSize / kPage; ++i)
    check(write(fd, page, kPage) == kPage, "write");
  signal(SIGBUS, on_bus);
  shared_view = mmap(NULL, kSize, PROT_READ, MAP_SHARED, fd, 0);
  private_view = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  check(shared_view != MAP_FAILED && private_view != MAP_FAILED, "mmap");
  private_view[2 * kPage + 7] = 'p'; // this page is the program's own from now on
  show("mapped");

  check(pwrite(fd, "pwrite", 6, kPage - 3) == 6, "pwrite");
  show("pwrite");
  check(lseek(fd, 2 * kPage + 100, SEEK_SET) > 0 && write(fd, "write", 5) == 5, "write");
  show("write");
  struct iovec pieces[2] = {{"writev ", 7}, {"in two", 6}};
  check(writev(fd, pieces, 2) == 13, "writev");
  show("writev");

  int other = memfd_create("other", 0);
  check(other >= 0 && write(other, "from another file", 17) == 17, "memfd");
  off_t from = 0;
  check(lseek(fd, 3 * kPage, SEEK_SET) > 0 && sendfile(fd, other, &from, 17) == 17, "sendfile");
  show("sendfile");
  int ends[2];
  check(pipe(ends) == 0 && write(ends[1], "through a pipe", 14) == 14, "pipe");
  loff_t to = 3 * kPage + 200;
  check(splice(ends[0], NULL, fd, &to, 14, 0) == 14, "splice");
  show("splice");

  check(ftruncate(fd, kPage + 10) == 0, "ftruncate");
  show("shrunk");
  check(ftruncate(fd, kSize) == 0, "ftruncate");
  show("grown again");
  int again = open(name, O_WRONLY | O_TRUNC);
  check(again >= 0, "open");
  show("emptied");
  check(write(again, page, 100) == 100, "write");
  show("refilled");
  check(truncate(name, 50) == 0, "truncate");
  show("truncated");
  unlink(name);
  return 0;
}
