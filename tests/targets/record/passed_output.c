// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes to standard output without the bytes being in its memory when it does.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

static void check(int fine, const char* what) {
  if (fine) return;
  perror(what);
  exit(1);
}

int main(void) {
  int file = memfd_create("text", 0);
  char text[64];
  int size = snprintf(text, sizeof text, "sent by process %d\n", (int)getpid());
  check(file >= 0 && write(file, text, (size_t)size) == size, "memfd");
  memset(text, 0, sizeof text);
  off_t from = 0;
  check(sendfile(1, file, &from, (size_t)size) == size, "sendfile");
  check(lseek(file, 5, SEEK_SET) == 5 && sendfile(1, file, NULL, (size_t)size - 5) == size - 5, "sendfile");
  int ends[2];
  check(pipe(ends) == 0 && write(ends[1], "through a pipe\n", 15) == 15, "pipe");
  check(splice(ends[0], NULL, 1, NULL, 100, 0) == 15, "splice");
  loff_t offset = 0;
  check(splice(file, &offset, ends[1], NULL, (size_t)size, 0) == size, "splice");
  close(ends[1]);
  check(splice(ends[0], NULL, 1, NULL, 100, 0) == size, "splice");
  check(splice(ends[0], NULL, 1, NULL, 100, 0) == 0, "splice at the end");
  return 0;
}
