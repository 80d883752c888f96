// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory management as a guest sees it: brk, mmap (anonymous, file, fixed), mprotect, munmap, mremap,
// madvise. The results are checked by use; addresses are not printed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hash.h"

static sigjmp_buf g_back;
static void on_fault(int signal_number) {
  siglongjmp(g_back, signal_number);
}

static const char* access_result(volatile char* p, int write) {
  int got = sigsetjmp(g_back, 1);
  if (got != 0) return got == SIGSEGV ? "segv" : got == SIGBUS ? "bus" : "other signal";
  if (write)
    *p = (char)(*p + 1);
  else
    (void)*p;
  return "fine";
}

static void breaks(void) {
  char* start = sbrk(0);
  printf("brk aligned %d\n", (int)((uintptr_t)start % 16));
  char* grown = sbrk(300000);
  printf("brk grown %d\n", grown == start);
  memset(grown, 7, 300000);
  printf("brk sum %d\n", grown[0] + grown[299999]);
  printf("brk shrunk %d\n", brk(start) == 0 && sbrk(0) == start);
  grown = sbrk(8192);
  int zero = 1;
  for (int i = 4096; i < 8192; i++)
    zero &= grown[i] == 0;
  printf("brk zeroed %d\n", zero);
  brk((void*)4096); // the kernel refuses by not moving it
  printf("brk kept %d\n", sbrk(0) == start + 8192);
  brk(start);
}

static void protections(void) {
  char* p = mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(p, 1, 8 * 4096);
  mprotect(p + 4096, 4096, PROT_READ);
  mprotect(p + 2 * 4096, 4096, PROT_NONE);
  munmap(p + 3 * 4096, 4096);
  for (int page = 0; page < 5; page++)
    printf("page %d: read %s write %s\n", page, access_result(p + page * 4096, 0),
           access_result(p + page * 4096, 1));
  mprotect(p + 2 * 4096, 4096, PROT_READ | PROT_WRITE);
  printf("opened again: %s\n", access_result(p + 2 * 4096, 1));
  char* fixed =
      mmap(p + 3 * 4096, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  printf("hole filled: %d %d\n", fixed == p + 3 * 4096, *fixed);
  printf("hole: %s\n", access_result(fixed, 1));
  char* taken = mmap(p, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  printf("no replace: %d\n", taken == MAP_FAILED && errno == EEXIST);
  madvise(p + 5 * 4096, 4096, MADV_DONTNEED);
  printf("dropped: %d %d\n", p[5 * 4096], p[6 * 4096]);
  munmap(p, 8 * 4096);
  printf("gone: %s\n", access_result(p, 0));
  printf("errors: %d %d %d\n", mprotect((void*)1, 4096, PROT_READ) != 0 && errno == EINVAL,
         munmap((void*)1, 4096) != 0 && errno == EINVAL,
         mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
}

static void moves(void) {
  size_t size = 4 * 4096;
  char* p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (size_t i = 0; i < size; i++)
    p[i] = (char)(i * 7);
  uint64_t before = hash_bytes(HASH_SEED, p, size);
  char* larger = mremap(p, size, 4 * size, MREMAP_MAYMOVE);
  printf("mremap grew %d, kept %d, zero %d\n", larger != MAP_FAILED,
         hash_bytes(HASH_SEED, larger, size) == before, larger[size] == 0 && larger[4 * size - 1] == 0);
  char* room = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* moved = mremap(larger, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, room);
  printf("mremap moved %d, kept %d\n", moved == room, hash_bytes(HASH_SEED, moved, size) == before);
  if (larger + size != room) printf("old place: %s\n", access_result(larger, 0));
  moved = mremap(moved, size, 4096, 0);
  printf("mremap shrunk %s %s\n", access_result(moved, 1), access_result(moved + 4096, 0));
}

static void files(void) {
  char path[] = "/tmp/rdb-eng-memory-XXXXXX";
  int fd = mkstemp(path);
  unlink(path);
  for (int i = 0; i < 3000; i++)
    dprintf(fd, "line %d\n", i);
  char* shared = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
  char* private = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 4096);
  printf("file %.10s\n", memchr(shared, 'l', 100));
  memcpy(shared + 100, "SHARED", 6);
  memcpy(private + 200, "PRIVATE", 7);
  char back[300];
  ssize_t got = pread(fd, back, 300, 4096);
  printf("pread %zd %d %d\n", got, memcmp(back + 100, "SHARED", 6) == 0,
         memcmp(back + 200, "PRIVATE", 7) == 0);
  if (pwrite(fd, "again", 5, 4096 + 400) == 5) printf("seen %d\n", memcmp(shared + 400, "again", 5) == 0);
  msync(shared, 4096, MS_SYNC);
  munmap(shared, 3 * 4096);
  munmap(private, 3 * 4096);
  close(fd);
}

static void many(void) {
  enum { kCount = 400 };
  static char* block[kCount];
  unsigned random = 1;
  uint64_t sum = 0;
  for (int i = 0; i < 1500; i++) {
    random = random * 1103515245 + 12345;
    unsigned slot = random >> 8 & 255, size = (random >> 4) % 300000 + 1;
    if (block[slot] != NULL) sum += (unsigned char)block[slot][0];
    if (i % 3 == 0) {
      block[slot] = realloc(block[slot], size);
    } else {
      free(block[slot]);
      block[slot] = malloc(size);
    }
    block[slot][0] = (char)i;
    block[slot][size - 1] = (char)i;
  }
  printf("malloc %llu\n", (unsigned long long)sum);
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGBUS, &action, NULL);
  static char buffer[4096]; // not malloc's: the break is moved back behind its back
  setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
  breaks();
  protections();
  moves();
  files();
  many();
  return 0;
}
