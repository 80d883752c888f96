// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waiting for descriptors: poll, select, epoll, and descriptors that count, tick, watch and catch signals.
#include "report.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>

static void polls(int quiet, int ready, int writable) {
  struct pollfd fds[4] = {
      {quiet, POLLIN, 0}, {ready, POLLIN | POLLPRI, 0}, {writable, POLLOUT, 0}, {777, POLLIN, 0}};
  said[0] = outcome(poll(fds, 4, 1000));
  fact("poll %s: %x %x %x %x", said[0], fds[0].revents, fds[1].revents, fds[2].revents, fds[3].revents);
  fact("poll for nothing %s", outcome(poll(fds, 1, 0)));
  struct timespec wait = {50, 0};
  fact("ppoll %s", outcome(syscall(SYS_ppoll, fds, 3, &wait, NULL, 0)));
  fact("time is left: %d", wait.tv_sec >= 1 && wait.tv_sec <= 50);
  changing("left %ld.%09ld", wait.tv_sec, wait.tv_nsec);

  fd_set in, out;
  FD_ZERO(&in);
  FD_ZERO(&out);
  FD_SET(quiet, &in);
  FD_SET(ready, &in);
  FD_SET(writable, &out);
  struct timeval timeout = {20, 0};
  said[0] = outcome(select(FD_SETSIZE, &in, &out, NULL, &timeout));
  fact("select %s: %d %d %d", said[0], FD_ISSET(quiet, &in) != 0, FD_ISSET(ready, &in) != 0,
       FD_ISSET(writable, &out) != 0);
  changing("left %ld.%06ld", timeout.tv_sec, timeout.tv_usec);
  FD_ZERO(&in);
  FD_SET(quiet, &in);
  struct timespec none = {0, 0};
  said[0] = outcome(pselect(quiet + 1, &in, NULL, NULL, &none, NULL));
  fact("pselect %s: %d", said[0], FD_ISSET(quiet, &in) != 0);
}

static void epolls(int quiet, int ready) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {EPOLLIN, {.u64 = 11}};
  fact("epoll_ctl %s", outcome(epoll_ctl(epoll, EPOLL_CTL_ADD, quiet, &event)));
  event = (struct epoll_event){EPOLLIN | EPOLLET, {.u64 = 0x123456789abcdef}};
  fact("epoll_ctl %s", outcome(epoll_ctl(epoll, EPOLL_CTL_ADD, ready, &event)));
  fact("epoll_ctl again %s", outcome(epoll_ctl(epoll, EPOLL_CTL_ADD, ready, &event)));
  struct epoll_event found[8];
  memset(found, 0x5a, sizeof found);
  said[0] = outcome(epoll_wait(epoll, found, 8, 1000));
  fact("epoll_wait %s: %x %lx hash %016lx", said[0], found[0].events, (unsigned long)found[0].data.u64,
       hash(found, sizeof found));
  fact("edge is gone %s", outcome(epoll_wait(epoll, found, 8, 0)));
  event.events = EPOLLIN;
  fact("epoll_ctl mod %s", outcome(epoll_ctl(epoll, EPOLL_CTL_MOD, ready, &event)));
  fact("epoll_pwait %s", outcome(epoll_pwait(epoll, found, 1, 0, NULL)));
  struct timespec none = {0, 0};
  fact("epoll_pwait2 %s", outcome(syscall(SYS_epoll_pwait2, epoll, found, 8, &none, NULL, 8)));
  close(epoll);
}

static void counters(void) {
  int fd = eventfd(3, EFD_NONBLOCK);
  uint64_t value = 4;
  MUST(write(fd, &value, 8) == 8);
  said[0] = outcome(read(fd, &value, 8));
  fact("eventfd %s %lu", said[0], value);
  fact("eventfd empty %s", outcome(read(fd, &value, 8)));
  close(fd);

  fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  struct itimerspec setting = {{0, 0}, {0, 1000000}}, old;
  fact("timerfd_settime %s", outcome(timerfd_settime(fd, 0, &setting, &old)));
  said[0] = outcome(read(fd, &value, 8));
  fact("timerfd %s %lu", said[0], value);
  said[0] = outcome(timerfd_gettime(fd, &old));
  fact("timerfd_gettime %s %ld", said[0], old.it_value.tv_nsec);
  close(fd);
}

static void caught_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1), sigaddset(&set, SIGRTMIN + 2);
  MUST(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  int fd = signalfd(-1, &set, SFD_CLOEXEC);
  union sigval value = {.sival_int = 4711};
  MUST(kill(getpid(), SIGUSR1) == 0 && sigqueue(getpid(), SIGRTMIN + 2, value) == 0);
  struct signalfd_siginfo info[4];
  ssize_t size = read(fd, info, sizeof info);
  fact("signalfd %ld", (long)size);
  for (size_t i = 0; i < (size_t)size / sizeof info[0]; ++i)
    fact("  signal %u code %d value %d mine %d", info[i].ssi_signo, info[i].ssi_code, info[i].ssi_int,
         info[i].ssi_pid == (uint32_t)getpid());
  close(fd);
}

static void watched_files(void) {
  char dir[] = "/tmp/sys_events.XXXXXX";
  MUST(mkdtemp(dir) != NULL);
  int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  int watch = inotify_add_watch(fd, dir, IN_CREATE | IN_DELETE | IN_MOVE | IN_CLOSE_WRITE);
  char a[64], b[64];
  snprintf(a, sizeof a, "%s/first", dir);
  snprintf(b, sizeof b, "%s/second-with-a-longer-name", dir);
  close(creat(a, 0600));
  MUST(rename(a, b) == 0 && unlink(b) == 0);
  char buffer[4096];
  ssize_t size = read(fd, buffer, sizeof buffer);
  fact("inotify %ld", (long)size);
  for (char* at = buffer; at < buffer + size;) {
    struct inotify_event* event = (struct inotify_event*)at;
    fact("  mask %x name %s", event->mask, event->len ? event->name : "-");
    at += sizeof *event + event->len;
  }
  fact("inotify_rm_watch %s", outcome(inotify_rm_watch(fd, watch)));
  close(fd);
  rmdir(dir);
}

static void clocks(void) {
  struct timespec a, b, sleep = {0, 2000000}, rest = {7, 7};
  MUST(clock_gettime(CLOCK_MONOTONIC, &a) == 0);
  said[0] = outcome(nanosleep(&sleep, &rest));
  fact("nanosleep %s rest %ld", said[0], rest.tv_sec);
  MUST(clock_gettime(CLOCK_MONOTONIC, &b) == 0);
  long passed = (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
  fact("slept long enough %d", passed >= 2000000);
  changing("slept %ld", passed);
  fact("clock_nanosleep in the past %d", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &a, NULL));
  MUST(clock_getres(CLOCK_REALTIME, &a) == 0);
  fact("resolution %ld", a.tv_nsec);
  for (int i = 0; i < 5; ++i) {
    MUST(clock_gettime(CLOCK_REALTIME, &a) == 0);
    changing("now %ld.%09ld", a.tv_sec, a.tv_nsec);
  }
}

int main(int argc, char** argv) {
  report_start(argc, argv);
  int quiet[2], ready[2];
  MUST(pipe(quiet) == 0 && pipe(ready) == 0);
  MUST(write(ready[1], "!", 1) == 1);
  polls(quiet[0], ready[0], quiet[1]);
  epolls(quiet[0], ready[0]);
  counters();
  caught_signals();
  watched_files();
  clocks();
  return 0;
}
