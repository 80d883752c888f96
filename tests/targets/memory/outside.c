// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that two programs share which know nothing of each other: "read NAME" maps it, says so and waits for
// a value; "write NAME" puts one there. "segment-read KEY" and "segment-write KEY" do so with a System V
// segment. "look NAME" maps the file for reading only, "look-private NAME" private, and "call NAME" puts the
// value there by a call.
#define _GNU_SOURCE
#include "cases.h"

#include <sys/shm.h>
#include <time.h>

static volatile int* open_file(const char* name) {
  int fd = open(name, O_RDWR | O_CREAT, 0600);
  check(fd >= 0 && ftruncate(fd, kPage) == 0, "open");
  int* word = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  check(word != MAP_FAILED, "mmap");
  return word;
}

static volatile int* open_segment(const char* key) {
  int id = shmget((key_t)strtol(key, NULL, 10), kPage, IPC_CREAT | 0600);
  check(id >= 0, "shmget");
  void* word = shmat(id, NULL, 0);
  check(word != (void*)-1, "shmat");
  return word;
}

static volatile int* look_at_file(const char* name, int flags) {
  int fd = open(name, O_RDONLY);
  check(fd >= 0, "open");
  return (volatile int*)map_pages(1, PROT_READ, flags, fd);
}

static int write_by_call(const char* name) {
  int fd = open(name, O_WRONLY);
  check(fd >= 0 && write(fd, &(int){42}, sizeof(int)) == sizeof(int), "write");
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (strcmp(argv[1], "call") == 0) return write_by_call(argv[2]);
  int is_segment = strncmp(argv[1], "segment-", 8) == 0;
  const char* what = is_segment ? argv[1] + 8 : argv[1];
  int looks = strncmp(what, "look", 4) == 0;
  volatile int* word = is_segment ? open_segment(argv[2])
                       : looks    ? look_at_file(argv[2], what[4] != 0 ? MAP_PRIVATE : MAP_SHARED)
                                  : open_file(argv[2]);
  if (strcmp(what, "write") == 0) {
    *word = 42;
    return 0;
  }
  say("ready\n");
  for (int i = 0; i < 2000 && *word == 0; ++i)
    nanosleep(&(struct timespec){0, 5000000}, NULL);
  say("got %d\n", *word);
  return *word;
}
