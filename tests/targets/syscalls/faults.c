// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Output into memory that is not there, or ends halfway: the kernel's answers, and what it wrote before.
#include "report.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

static char* page; // followed by an inaccessible page
static char* end;
static char* nowhere;
static char* read_only;

static long result;

static void say(const char* what) {
  fact("%-36s %-10s hash %016lx", what, outcome(result), hash(page, 4096));
  memset(page, 0x33, 4096);
}

static void files(void) {
  int fd = open("/proc/self/exe", O_RDONLY);
  char content[8192];
  MUST(pread(fd, content, sizeof content, 0) == sizeof content);
  result = pread(fd, end - 100, 1000, 0);
  say("pread half");
  result = pread(fd, nowhere, 1000, 0);
  say("pread nowhere");
  result = pread(fd, read_only, 1000, 0);
  say("pread into read-only memory");
  result = pread(fd, NULL, 1000, 0);
  say("pread NULL");
  result = pread(fd, (char*)-4096, 1000, 0);
  say("pread into the kernel");
  struct iovec vectors[3] = {{page, 10}, {end - 20, 50}, {page + 200, 10}};
  result = preadv(fd, vectors, 3, 0);
  say("preadv half of the second");
  vectors[1].iov_base = nowhere;
  result = preadv(fd, vectors, 3, 0);
  say("preadv nowhere second");
  result = syscall(SYS_preadv, fd, end - 16, 3, 0, 0);
  say("preadv array ends");
  result = syscall(SYS_fstat, fd, end - 50);
  fact("fstat half %s", outcome(result)); // what was written depends on the file
  memset(page, 0x33, 4096);
  result = syscall(SYS_stat, nowhere, page);
  say("stat of a bad path");
  close(fd);
}

static void pipes_and_sockets(void) {
  int ends[2];
  MUST(pipe(ends) == 0 && write(ends[1], "0123456789", 10) == 10);
  result = read(ends[0], end - 4, 10);
  say("pipe half");
  result = read(ends[0], page, 100);
  say("pipe rest");
  result = syscall(SYS_pipe, end - 4);
  say("pipe into half");
  result = write(ends[1], end - 3, 10);
  say("write half");
  result = write(ends[1], nowhere, 10);
  say("write nowhere");

  int pair[2];
  MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
  MUST(send(pair[0], "datagram one", 12, 0) == 12);
  result = recv(pair[1], end - 5, 100, MSG_DONTWAIT);
  say("datagram half");
  result = recv(pair[1], page, 100, MSG_DONTWAIT);
  say("datagram is gone");
  MUST(send(pair[0], "datagram two", 12, 0) == 12);
  struct iovec vectors[2] = {{page + 10, 4}, {nowhere, 100}};
  struct msghdr message = {.msg_iov = vectors, .msg_iovlen = 2};
  result = recvmsg(pair[1], &message, MSG_DONTWAIT);
  say("recvmsg nowhere second");
  socklen_t* length = (socklen_t*)page;
  *length = 100;
  result = getsockname(pair[0], (struct sockaddr*)(end - 1), length);
  say("getsockname half");
  *length = (socklen_t)-1;
  result = getsockname(pair[0], (struct sockaddr*)(page + 100), length);
  say("getsockname negative length");
  result = syscall(SYS_getsockname, pair[0], page + 100, nowhere);
  say("getsockname length nowhere");
  result = syscall(SYS_getsockopt, pair[0], SOL_SOCKET, SO_TYPE, page + 100, NULL);
  say("getsockopt length NULL");
}

static void structures(void) {
  result = syscall(SYS_uname, end - 100);
  fact("uname half %s", outcome(result));
  memset(page, 0x33, 4096);
  result = syscall(SYS_clock_gettime, CLOCK_MONOTONIC, end - 8);
  fact("clock_gettime half %s", outcome(result));
  memset(page, 0x33, 4096);
  result = syscall(SYS_getrlimit, RLIMIT_STACK, nowhere);
  say("getrlimit nowhere");
  uid_t* ids = (uid_t*)page;
  result = syscall(SYS_getresuid, ids, nowhere, ids + 1);
  fact("getresuid second nowhere %s third untouched %x", outcome(result), ids[1]);
  memset(page, 0x33, 4096);
  result = syscall(SYS_poll, end - 12, 2, 0);
  say("poll half");
  result = syscall(SYS_poll, nowhere, 1, 0);
  say("poll nowhere");
  result = syscall(SYS_select, 10, nowhere, NULL, NULL, NULL);
  say("select nowhere");
  result = syscall(SYS_wait4, -1, nowhere, WNOHANG, NULL);
  say("wait4 without children");
  // A constant timeout is no error though the kernel cannot update it.
  result = syscall(SYS_ppoll, NULL, 0, read_only, NULL, 0);
  say("ppoll with a constant timeout");
  result = syscall(SYS_nanosleep, nowhere, page);
  say("nanosleep nowhere");
  result = syscall(SYS_getcwd, end - 1, 4096);
  fact("getcwd half %s", result < 0 ? strerrorname_np(errno) : "fits");
  memset(page, 0x33, 4096);
  result = syscall(SYS_getgroups, -5, page);
  say("getgroups negative");
  result = syscall(SYS_readlink, "/proc/self/exe", page, 0);
  say("readlink of no size");
}

static void epolls(void) {
  int ends[2][2], epoll = epoll_create1(0);
  for (int i = 0; i < 2; ++i) {
    MUST(pipe(ends[i]) == 0 && write(ends[i][1], "x", 1) == 1);
    struct epoll_event event = {EPOLLIN, {.u64 = 1}};
    MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[i][0], &event) == 0);
  }
  result = syscall(SYS_epoll_wait, epoll, end - 12, 5, 0);
  say("epoll_wait room for one");
  result = syscall(SYS_epoll_wait, epoll, nowhere, 5, 0);
  say("epoll_wait nowhere");
  result = syscall(SYS_epoll_wait, epoll, page, -1, 0);
  say("epoll_wait negative");
}

int main(int argc, char** argv) {
  report_start(argc, argv);
  page = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  MUST(page != MAP_FAILED);
  end = page + 4096;
  nowhere = end + 64;
  read_only = page + 2 * 4096;
  memset(page, 0x33, 4096);
  memcpy(read_only, &(struct timespec){0, 1000}, sizeof(struct timespec));
  MUST(mprotect(end, 4096, PROT_NONE) == 0 && mprotect(read_only, 4096, PROT_READ) == 0);
  MUST(munmap(page + 3 * 4096, 4096) == 0);
  files();
  pipes_and_sockets();
  structures();
  epolls();
  return 0;
}
