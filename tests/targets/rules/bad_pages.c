// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the kernel does with structures and buffers that it can write only in part, or that overlap: what it
// wrote before it failed stays, it reads what it may read, and it finds other mistakes first.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096 };

enum Second { kReadOnly, kForbidden, kUnmapped, kSeconds };
static const char* const kNames[] = {"read-only", "forbidden", "unmapped"};

// Two pages, of which the second is no good; or the first, if `swapped`.
static char* pages(enum Second second, int swapped) {
  char* p = mmap(NULL, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* bad = swapped ? p : p + kPage;
  if (second == kReadOnly) mprotect(bad, kPage, PROT_READ);
  if (second == kForbidden) mprotect(bad, kPage, PROT_NONE);
  if (second == kUnmapped) munmap(bad, kPage);
  return p;
}

static void set_rights(char* p, enum Second second, int swapped, int open) {
  char* bad = swapped ? p : p + kPage;
  if (second == kReadOnly) mprotect(bad, kPage, open ? PROT_READ | PROT_WRITE : PROT_READ);
}

static void say(const char* what, enum Second second, long result) {
  printf("%s %s: %ld %s\n", what, kNames[second], result, result < 0 ? strerrorname_np(errno) : "");
}

static void show(const char* bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    printf("%02x%s", (unsigned char)bytes[i], i % 32 == 31 || i + 1 == size ? "\n" : "");
}

static void polls(enum Second second, int swapped) {
  char* p = pages(second, swapped);
  int ends[2];
  if (pipe(ends) != 0) perror("pipe");
  struct pollfd* set = (struct pollfd*)(p + kPage - 2 * sizeof(struct pollfd));
  set_rights(p, second, swapped, 1);
  for (int i = 0; i < 4; i++) {
    struct pollfd one = {ends[1], POLLOUT, 0x77};
    if ((i < 2 && !swapped) || (i >= 2 && swapped) || second == kReadOnly) set[i] = one;
  }
  set_rights(p, second, swapped, 0);
  say("poll", second, poll(set, 4, 0));
  for (int i = 0; i < 4; i++)
    if ((i < 2 && !swapped) || (i >= 2 && swapped) || second == kReadOnly) printf(" %x", set[i].revents);
  printf("\n");
  struct timespec zero = {0, 0};
  say("ppoll", second, syscall(SYS_ppoll, set, 4, &zero, NULL, 8));
  close(ends[0]);
  close(ends[1]);
}

static void directories(enum Second second) {
  char* p = pages(second, 0);
  char folder[] = "/tmp/rule_bad_pages-XXXXXX";
  if (mkdtemp(folder) == NULL) perror("mkdtemp");
  char name[256];
  for (int i = 0; i < 20; i++) {
    snprintf(name, sizeof name, "%s/file%02d", folder, i);
    close(open(name, O_CREAT | O_RDWR, 0600));
  }
  const size_t rooms[] = {8, 20, 50, 100, 150, 333};
  for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
    memset(p, 0x55, kPage);
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    char* at = p + kPage - rooms[i];
    say("getdents64", second, syscall(SYS_getdents64, fd, at, 2048));
    // Numbers of files, and their places, are of this run alone.
    for (size_t k = 0; k < rooms[i]; k++)
      printf("%d", at[k] != 0x55 || (k > 18 && at[k] == 0x55));
    printf("\n");
    memset(p, 0x55, kPage);
    say("again", second, syscall(SYS_getdents, fd, at, 2048));
    close(fd);
  }
  for (int i = 0; i < 20; i++) {
    snprintf(name, sizeof name, "%s/file%02d", folder, i);
    unlink(name);
  }
  rmdir(folder);
}

// The structure lies across both pages.
static void structures(enum Second second, int swapped) {
  char* p = pages(second, swapped);
  char* at = p + kPage - 8;
  fd_set* set = (fd_set*)at;
  struct timeval none = {0, 0};
  say("select of a closed descriptor", second, select(128, NULL, set, NULL, &none));
  set_rights(p, second, swapped, 1);
  if (second == kReadOnly) memset(at, 0xff, 16);
  set_rights(p, second, swapped, 0);
  say("select of closed descriptors", second, select(128, NULL, set, NULL, &none));
  say("recvmsg of a closed descriptor", second, recvmsg(999, (struct msghdr*)at, 0));
  say("getsockopt of a closed descriptor", second,
      getsockopt(999, SOL_SOCKET, SO_TYPE, at, (socklen_t*)(at + 2)));
  say("sendfile of a closed descriptor", second, sendto(999, at, 16, 0, NULL, 0));
  off_t* offset = (off_t*)(p + kPage - 4);
  say("copy_file_range", second, syscall(SYS_copy_file_range, 999, offset, 999, offset, 10, 0));
  struct timex* time = (struct timex*)(p + kPage - 16);
  set_rights(p, second, swapped, 1);
  if (second == kReadOnly) memset(time, 0, sizeof *time);
  set_rights(p, second, swapped, 0);
  say("clock_adjtime", second, syscall(SYS_clock_adjtime, 77, time));
  struct timespec* left = (struct timespec*)(p + kPage - 8);
  struct timespec wrong = {0, -1};
  say("nanosleep", second, nanosleep(&wrong, left));
  struct timespec* first = (struct timespec*)(p + kPage - 8);
  set_rights(p, second, swapped, 1);
  if (second == kReadOnly) *first = wrong;
  set_rights(p, second, swapped, 0);
  say("nanosleep of both", second, nanosleep(first, first));
  say("prlimit", second, syscall(SYS_prlimit64, 0, 99, NULL, at));
  say("capget", second, syscall(SYS_capget, at, NULL));
}

static void messages(enum Second second, int swapped) {
  char* p = pages(second, swapped);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) perror("socketpair");
  for (int i = 0; i < 6; i++) {
    char text[8];
    snprintf(text, sizeof text, "text%d", i);
    if (send(ends[0], text, 5, 0) != 5) perror("send");
  }
  char buffers[4][16] = {{0}};
  struct iovec vectors[4];
  for (int i = 0; i < 4; i++)
    vectors[i] = (struct iovec){buffers[i], 16};
  struct msghdr* header = (struct msghdr*)(p + kPage - 48);
  set_rights(p, second, swapped, 1);
  struct msghdr plain = {.msg_iov = vectors, .msg_iovlen = 1, .msg_flags = 0x55};
  if (second == kReadOnly) *header = plain;
  set_rights(p, second, swapped, 0);
  say("recvmsg", second, recvmsg(ends[1], header, MSG_DONTWAIT));
  printf("%s\n", buffers[0]);
  struct mmsghdr* many = (struct mmsghdr*)(p + kPage - 2 * sizeof(struct mmsghdr));
  set_rights(p, second, swapped, 1);
  for (int i = 0; i < 4; i++) {
    struct mmsghdr one = {.msg_hdr = {.msg_iov = vectors + i, .msg_iovlen = 1}};
    if ((i < 2 && !swapped) || (i >= 2 && swapped) || second == kReadOnly) many[i] = one;
  }
  set_rights(p, second, swapped, 0);
  memset(buffers, 0, sizeof buffers);
  say("recvmmsg", second, recvmmsg(ends[1], many, 4, MSG_DONTWAIT, NULL));
  for (int i = 0; i < 4; i++)
    printf("%s,", buffers[i]);
  printf("\n");
  // What it could not say is an error of the socket.
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(ends[1], SOL_SOCKET, SO_ERROR, &error, &size);
  printf("error %d\n", error);
  memset(buffers, 0, sizeof buffers);
  say("left", second, recv(ends[1], buffers[0], 16, MSG_DONTWAIT));
  printf("%s\n", buffers[0]);
  close(ends[0]);
  close(ends[1]);
}

static void overlaps(void) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) perror("socketpair");
  int32_t words[40];
  for (int offset = -2; offset <= 6; offset++) {
    memset(words, 0x11, sizeof words);
    char* length = (char*)(words + 16);
    int32_t room = 4;
    memcpy(length, &room, 4);
    long result = syscall(SYS_getsockopt, ends[0], SOL_SOCKET, SO_TYPE, length + offset, length);
    printf("getsockopt %d: %ld ", offset, result);
    show(length - 8, 24);
  }
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "rule_bad_pages-%d", 1);
  int named = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(named, (struct sockaddr*)&name, 2) != 0) perror("bind");
  for (int offset = -8; offset <= 4; offset += 4) {
    memset(words, 0x11, sizeof words);
    char* length = (char*)(words + 16);
    int32_t room = 2;
    memcpy(length, &room, 4);
    long result = syscall(SYS_getsockname, ends[0], length + offset, length);
    printf("getsockname %d: %ld ", offset, result);
    show(length - 8, 24);
  }
  // The sets are one.
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  struct timeval none = {0, 0};
  fd_set* same = &set;
  __asm__("" : "+r"(same));
  long result = select(ends[0] + 1, &set, same, NULL, &none);
  printf("select %ld %d\n", result, FD_ISSET(ends[0], &set) ? 1 : 0);
  FD_SET(ends[0], &set);
  fd_set* again = same;
  __asm__("" : "+r"(again));
  result = select(ends[0] + 1, &set, same, again, &none);
  printf("select %ld %d\n", result, FD_ISSET(ends[0], &set) ? 1 : 0);
}

static void try_lock(const char* what, pid_t owner) {
  for (int flag = 0; flag <= FUTEX_PRIVATE_FLAG; flag += FUTEX_PRIVATE_FLAG) {
    uint32_t lock = (uint32_t)owner;
    long result = syscall(SYS_futex, &lock, FUTEX_TRYLOCK_PI | flag, 0, NULL, NULL, 0);
    printf("%s %d: %ld %s %d\n", what, flag, result, strerrorname_np(errno), (lock & FUTEX_WAITERS) != 0);
  }
}

static void other_owners(void) {
  int ends[2];
  if (pipe(ends) != 0) perror("pipe");
  pid_t child = fork();
  if (child == 0) {
    char byte;
    close(ends[1]);
    _exit(read(ends[0], &byte, 1) != 0);
  }
  try_lock("trylock of another process's", child);
  close(ends[1]);
  siginfo_t info;
  waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
  try_lock("of one that has ended", child);
  waitpid(child, NULL, 0);
  try_lock("of nobody", child);
}

int main(void) {
  // select() looks at no more descriptors than the process has room for, and that is 64 at first: with room
  // for 256 it looks at all 128.
  if (dup2(0, 200) != 200) perror("dup2");
  setvbuf(stdout, NULL, _IOFBF, 1 << 16);
  for (int second = 0; second < kSeconds; second++) {
    for (int swapped = 0; swapped < 2; swapped++) {
      printf("%s\n", swapped ? "first page" : "second page");
      polls(second, swapped);
      structures(second, swapped);
      messages(second, swapped);
    }
    directories(second);
  }
  overlaps();
  fflush(stdout);
  other_owners();
  return 0;
}
