// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that change the address space, and files that are mapped and written at the same time.
#include "report.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

static const size_t kPage = 4096;

static char* map(size_t size, int protection, int flags, int fd) {
  char* at = mmap(NULL, size, protection, flags, fd, 0);
  MUST(at != MAP_FAILED);
  return at;
}

static void anonymous(void) {
  char* at = map(16 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  changing("mapped at %p", (void*)at);
  memset(at, 'x', 16 * kPage);
  fact("mprotect %s", outcome(mprotect(at + 4 * kPage, kPage, PROT_READ)));
  fact("madvise %s", outcome(madvise(at + 8 * kPage, 2 * kPage, MADV_DONTNEED)));
  fact("dropped pages are zero %d %d", at[8 * kPage], at[10 * kPage]);
  fact("munmap the middle %s", outcome(munmap(at + 12 * kPage, kPage)));
  char* fixed =
      mmap(at + 12 * kPage, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  fact("mapped again where it was %d", fixed == at + 12 * kPage);
  char* no_replace = mmap(at, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  fact("no replacing %s", no_replace == MAP_FAILED ? strerrorname_np(errno) : "replaced");
  char* part = map(2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  part[0] = 'm';
  part[2 * kPage - 1] = 'M';
  char* moved = mremap(part, 2 * kPage, 64 * kPage, MREMAP_MAYMOVE);
  MUST(moved != MAP_FAILED);
  fact("mremap keeps %c %c and adds %d", moved[0], moved[2 * kPage - 1], moved[3 * kPage]);
  moved = mremap(moved, 64 * kPage, kPage, 0);
  fact("mremap shrinks %c", moved[0]);
  unsigned char resident[16];
  said[0] = outcome(mincore(at, 4 * kPage, resident));
  fact("mincore %s %d", said[0], resident[0] & 1);
  said[0] = outcome(mlock(at, kPage));
  said[1] = outcome(munlock(at, kPage));
  fact("mlock %s munlock %s", said[0], said[1]);
  fact("unaligned %s", outcome(mprotect(at + 1, kPage, PROT_READ)));
  char* before = sbrk(0);
  fact("sbrk %d", sbrk((intptr_t)(3 * kPage)) == before);
  memset(before, 7, 3 * kPage);
  fact("sbrk back %d", sbrk(-(intptr_t)(3 * kPage)) == before + 3 * kPage);
}

static void files(void) {
  char name[] = "/tmp/sys_memory.XXXXXX";
  int fd = mkstemp(name);
  MUST(fd >= 0 && unlink(name) == 0);
  char page[4096];
  memset(page, 'f', sizeof page);
  for (int i = 0; i < 4; ++i)
    MUST(write(fd, page, sizeof page) == sizeof page);
  char* shared = map(4 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
  char* private = map(4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
  // A write() to a mapped file shows in the mapping.
  MUST(pwrite(fd, "written", 7, 100) == 7);
  fact("shared shows %.7s", shared + 100);
private
  [100] = 'P';
  MUST(pwrite(fd, "WRITTEN", 7, 100) == 7);
  fact("private keeps %.7s shared %.7s", private + 100, shared + 100);
  memcpy(shared + 5000, "through memory", 14);
  char text[32] = "";
  said[0] = outcome(pread(fd, text, 14, 5000));
  fact("pread %s %s", said[0], text);
  // So does a read() from elsewhere into the mapping.
  int ends[2];
  MUST(pipe(ends) == 0 && write(ends[1], "from a pipe", 11) == 11);
  said[0] = outcome(read(ends[0], shared + 9000, 64));
  fact("read into the mapping %s %.11s", said[0], shared + 9000);
  fact("ftruncate %s", outcome(ftruncate(fd, (off_t)(2 * kPage))));
  fact("ftruncate back %s", outcome(ftruncate(fd, (off_t)(4 * kPage))));
  fact("cut part is zero %d", shared[9000]);
  fact("msync %s", outcome(msync(shared, 4 * kPage, MS_SYNC)));
  fact("fallocate punch %s",
       outcome(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)kPage)));
  fact("punched %d", shared[100]);
  fact("hash %016lx", hash(shared, 4 * kPage));
  close(fd);
  fact("after close %.14s", shared + 5000);
  said[0] = outcome(munmap(shared, 4 * kPage));
  said[1] = outcome(munmap(private, 4 * kPage));
  fact("munmap %s %s", said[0], said[1]);
  close(ends[0]), close(ends[1]);
}

static void shared_memory(void) {
  int fd = memfd_create("shared", 0);
  MUST(ftruncate(fd, (off_t)(2 * kPage)) == 0);
  char* a = map(2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
  char* b = map(2 * kPage, PROT_READ, MAP_SHARED, fd);
  strcpy(a + 10, "two views of one page");
  fact("other view %s", b + 10);
  strcpy(a + kPage, "again");
  fact("other view %s", b + kPage);
  struct iovec local = {a + 500, 9}, remote = {b + 14, 9};
  said[0] = outcome(process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
  fact("process_vm_readv %s %.9s", said[0], b + 500);
  close(fd);
}

int main(int argc, char** argv) {
  report_start(argc, argv);
  anonymous();
  files();
  shared_memory();
  return 0;
}
