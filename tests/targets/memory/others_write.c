// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file that is mapped private, or shared for reading only, and that somebody else changes: a forked child,
// a thread, another program, by calls of all kinds. Pages that were not written to show what the file holds
// now.
#define _GNU_SOURCE
#include "cases.h"

#include <pthread.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { kPages = 4 };

// What is done to the file while it is mapped.
typedef void Change(int fd);

static void writes(int fd) {
  check(pwrite(fd, "A", 1, 0) == 1, "pwrite");
  check(lseek(fd, kPage, SEEK_SET) == kPage && write(fd, "B", 1) == 1, "write");
  struct iovec parts[2] = {{"C", 1}, {"C", 1}};
  check(pwritev(fd, parts, 2, 2 * kPage) == 2, "pwritev");
}

static void cuts_off(int fd) {
  check(ftruncate(fd, kPage + 10) == 0, "ftruncate");
}

static void cuts_off_and_grows(int fd) {
  check(ftruncate(fd, 0) == 0 && ftruncate(fd, kPages * kPage) == 0, "ftruncate");
  check(pwrite(fd, "A", 1, kPage) == 1, "pwrite");
}

static void punches(int fd) {
  check(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kPage, 2 * kPage) == 0, "fallocate");
}

static void copies(int fd) {
  int from = letter_file(kPages);
  loff_t source = 3 * kPage, target = 0;
  check(copy_file_range(from, &source, fd, &target, kPage, 0) == kPage, "copy_file_range");
  off_t begin = 0;
  check(lseek(fd, 2 * kPage, SEEK_SET) == 2 * kPage && sendfile(fd, from, &begin, kPage) == kPage,
        "sendfile");
}

static char* map_letters(int fd, int protection, int flags) {
  char* p = map_pages(kPages, protection, flags, fd);
  if (flags & MAP_PRIVATE && protection & PROT_WRITE) p[0] = 'o'; // its own from here on
  return p;
}

static void in_child(Change* change, int protection, int flags) {
  int fd = letter_file(kPages);
  char* p = map_letters(fd, protection, flags);
  pid_t child = fork();
  if (child == 0) {
    munmap(p, kPages * kPage);
    change(fd);
    _exit(0);
  }
  show_status("child", wait_for(child));
  show("after", p, kPages);
  // A second time: the parent has had a look.
  child = fork();
  if (child == 0) {
    check(pwrite(fd, "Z", 1, kPage) == 1, "pwrite");
    _exit(0);
  }
  wait_for(child);
  show("later", p, kPages);
}

static void private_all(Change* change) {
  in_child(change, PROT_READ, MAP_PRIVATE);
  in_child(change, PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

static void private_written(void) {
  private_all(writes);
}
static void private_cut_off(void) {
  private_all(cuts_off);
}
static void private_grown(void) {
  private_all(cuts_off_and_grows);
}
static void private_punched(void) {
  private_all(punches);
}
static void private_copied(void) {
  private_all(copies);
}

static void* thread_writes(void* fd) {
  writes(*(int*)fd);
  return NULL;
}

static void private_thread(void) {
  int fd = letter_file(kPages);
  char* p = map_letters(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);
  pthread_t thread;
  check(pthread_create(&thread, NULL, thread_writes, &fd) == 0, "pthread_create");
  pthread_join(thread, NULL);
  show("after", p, kPages);
}

// A file with a name, which `run` may put into a command.
static int named_file(char* name) {
  int old = letter_file(kPages);
  int fd = mkstemp(name);
  check(fd >= 0 && sendfile(fd, old, &(off_t){0}, kPages * kPage) == kPages * kPage, "sendfile");
  close(old);
  return fd;
}

static void run(const char* format, const char* name) {
  char command[200];
  snprintf(command, sizeof command, format, name);
  show_status("command", system(command));
}

// dd has the file open, and not mapped.
static void by_program(int flags) {
  char name[] = "others-XXXXXX";
  int fd = named_file(name);
  int reading = open(name, O_RDONLY);
  char* p = map_letters(reading, PROT_READ, flags);
  close(reading);
  run("printf b | dd of=%s conv=notrunc status=none", name);
  show("written", p, kPages);
  run("printf c | dd of=%s bs=4096 seek=1 conv=notrunc status=none", name);
  show("written", p, kPages);
  run("printf d | dd of=%s bs=4096 seek=2 status=none", name);
  show("cut off", p, kPages);
  run("printf e > %s", name);
  show("cut off", p, kPages);
  unlink(name);
  close(fd);
}

static void private_program(void) {
  by_program(MAP_PRIVATE);
}
static void shared_program(void) {
  by_program(MAP_SHARED);
}

// Another file takes its name: the mapping keeps the old one.
static void private_renamed(void) {
  char name[] = "others-XXXXXX";
  int fd = named_file(name);
  char* p = map_letters(fd, PROT_READ, MAP_PRIVATE);
  run("f=%s; printf new > $f.new; mv $f.new $f", name);
  show("after", p, kPages);
  check(pwrite(fd, "A", 1, 0) == 1, "pwrite");
  show("old file written", p, kPages);
  unlink(name);
}

// No call is made between the change and the look at it.
static void watched(int flags) {
  char name[] = "others-XXXXXX";
  int fd = named_file(name);
  int ready[2];
  check(pipe(ready) == 0, "pipe");
  pid_t child = fork();
  if (child == 0) {
    char byte;
    check(read(ready[0], &byte, 1) == 1, "read");
    for (int i = 0; i < 20; ++i)
      check(pwrite(fd, "ABCDEFGHIJKLMNOPQRST" + i, 1, kPage) == 1, "pwrite");
    _exit(0);
  }
  int own = open(name, O_RDONLY); // by a call of its own: nothing is shared by the fork
  volatile char* p = map_letters(own, PROT_READ, flags);
  check(write(ready[1], "r", 1) == 1, "write");
  while (p[kPage] != 'T')
    ;
  say("seen %c\n", p[kPage]);
  show_status("child", wait_for(child));
  unlink(name);
}

static void private_watched(void) {
  watched(MAP_PRIVATE);
}
static void shared_watched(void) {
  watched(MAP_SHARED);
}

// Two children write at the same time, while this process sleeps and looks, in turns. How long it sleeps
// depends on what it has seen.
static void two_writers(void) {
  int fd = letter_file(kPages);
  volatile char* p = map_letters(fd, PROT_READ, MAP_PRIVATE);
  for (int writer = 0; writer < 2; ++writer) {
    if (fork() != 0) continue;
    for (int round = 0; round < 60; ++round) {
      char letter = (char)('A' + round % 26);
      for (int page = writer; page < kPages; page += 2)
        check(pwrite(fd, &letter, 1, page * kPage) == 1, "pwrite");
      usleep(300);
    }
    _exit(0);
  }
  unsigned seen = 0;
  for (int round = 0; round < 60; ++round) {
    for (int page = 0; page < kPages; ++page)
      seen = seen * 31 + (unsigned char)p[page * kPage];
    usleep(200 + seen % 64);
  }
  while (wait(NULL) > 0)
    ;
  show("after", (char*)p, kPages);
}

// Two processes write to the file that the other one has mapped.
static void both_write(void) {
  int fd = letter_file(kPages);
  char* p = map_letters(fd, PROT_READ, MAP_PRIVATE);
  int go[2][2];
  char byte;
  check(pipe(go[0]) == 0 && pipe(go[1]) == 0, "pipe");
  pid_t child = fork();
  int me = child == 0;
  for (int i = 0; i < 10; ++i) {
    char letter = (char)((me ? 'A' : 'N') + i);
    check(pwrite(fd, &letter, 1, me * kPage) == 1, "pwrite");
    check(write(go[me][1], "x", 1) == 1 && read(go[!me][0], &byte, 1) == 1, "read");
    if (!me) show("parent", p, kPages);
    check(write(go[me][1], "x", 1) == 1 && read(go[!me][0], &byte, 1) == 1, "read");
    if (me) show("child", p, kPages);
    check(write(go[me][1], "x", 1) == 1 && read(go[!me][0], &byte, 1) == 1, "read");
  }
  if (me) _exit(0);
  wait_for(child);
}

// What is removed through one mapping is removed from all.
static void removed(int flags) {
  int fd = letter_file(kPages);
  char* one = map_pages(kPages, PROT_READ, MAP_SHARED, fd);
  char* two = map_pages(kPages, PROT_READ, flags, fd);
  show("before", two, kPages);
  say("remove: %s\n", error_of(madvise(one + kPage, 2 * kPage, MADV_REMOVE)));
  show("one", one, kPages);
  show("two", two, kPages);
  check(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage) == 0, "fallocate");
  show("one", one, kPages);
  show("two", two, kPages);
}

// The same in another process, which has a mapping of its own.
static void removed_elsewhere(void) {
  char name[] = "others-XXXXXX";
  int fd = named_file(name);
  int ready[2];
  check(pipe(ready) == 0, "pipe");
  pid_t child = fork();
  if (child == 0) {
    char byte;
    int own = open(name, O_RDWR);
    char* p = map_pages(kPages, PROT_READ, MAP_SHARED, own);
    check(read(ready[0], &byte, 1) == 1, "read");
    _exit(madvise(p + kPage, kPage, MADV_REMOVE) == 0 ? 0 : errno);
  }
  char* p = map_letters(fd, PROT_READ, MAP_PRIVATE);
  check(write(ready[1], "r", 1) == 1, "write");
  show_status("child", wait_for(child));
  show("after", p, kPages);
  unlink(name);
}

static void removed_shared(void) {
  removed(MAP_SHARED);
}
static void removed_private(void) {
  removed(MAP_PRIVATE);
}

// What the program writes after the end of the file, in its last page, some kernels clear as they write the
// page to disk.
static void after_end(void) {
  int fd = letter_file(1);
  check(ftruncate(fd, 100) == 0, "ftruncate");
  char* p = map_pages(1, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
  for (int way = 0; way < 4; ++way) {
    p[0] = (char)('A' + way);
    p[200] = 'x';
    int result = way == 0   ? msync(p, kPage, MS_SYNC)
                 : way == 1 ? fsync(fd)
                 : way == 2 ? fdatasync(fd)
                            : sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    say("way %d: %s, %s\n", way, error_of(result), p[200] == 0 ? "cleared" : "kept");
  }
}

static const struct Case cases[] = {
    {"private_written", private_written},
    {"private_cut_off", private_cut_off},
    {"private_grown", private_grown},
    {"private_punched", private_punched},
    {"private_copied", private_copied},
    {"private_thread", private_thread},
    {"private_program", private_program},
    {"shared_program", shared_program},
    {"private_renamed", private_renamed},
    {"private_watched", private_watched},
    {"shared_watched", shared_watched},
    {"both_write", both_write},
    {"two_writers", two_writers},
    {"removed_shared", removed_shared},
    {"removed_private", removed_private},
    {"removed_elsewhere", removed_elsewhere},
    {"after_end", after_end},
};

int main(int argc, char** argv) {
  return RUN_CASES(argc, argv);
}
