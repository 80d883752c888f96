// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A handler that interrupts ppoll, pselect, epoll_pwait, epoll_pwait2 or sigsuspend runs with the mask of the
// call, its sa_mask and (without SA_NODEFER) its own signal blocked; when it returns, the mask from before
// the call is back.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static const int kSignals[] = {SIGALRM, SIGUSR1, SIGUSR2, SIGCHLD, SIGHUP, SIGSEGV};
static const char* what;
static sigjmp_buf out;
static volatile int nested, jumps;

static void show_mask(const char* where, const sigset_t* mask) {
  char text[200];
  int length = snprintf(text, sizeof text, "%s, %s:", what, where);
  for (unsigned i = 0; i < sizeof kSignals / sizeof kSignals[0]; i++)
    if (sigismember(mask, kSignals[i]))
      length += snprintf(text + length, sizeof text - (size_t)length, " %s", sigabbrev_np(kSignals[i]));
  text[length++] = '\n';
  write(1, text, (size_t)length);
}

static void show_current(const char* where) {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  show_mask(where, &mask);
}

static void handler(int signal, siginfo_t* info, void* context) {
  (void)info;
  char name[40];
  snprintf(name, sizeof name, "in the handler of %s", sigabbrev_np(signal));
  show_current(name);
  show_mask("to return to", &((ucontext_t*)context)->uc_sigmask);
  if (nested && signal == SIGALRM) {
    nested = 0;
    raise(SIGUSR1);
    show_current("after a nested one");
  }
  if (jumps) siglongjmp(out, 1);
}

static void handle(int signal, int flags, int also_blocked) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
  sigemptyset(&action.sa_mask);
  if (also_blocked) sigaddset(&action.sa_mask, also_blocked);
  sigaction(signal, &action, NULL);
}

static sigset_t set_of(int first, int second) {
  sigset_t set;
  sigemptyset(&set);
  if (first) sigaddset(&set, first);
  if (second) sigaddset(&set, second);
  return set;
}

// The signal is pending before the call, which lets it in.
static void wait_in(int call, const sigset_t* mask) {
  struct timespec second = {5, 0};
  struct epoll_event event;
  int poller = epoll_create1(EPOLL_CLOEXEC);
  static const char* const kNames[] = {"ppoll", "pselect", "epoll_pwait", "epoll_pwait2", "sigsuspend"};
  what = kNames[call];
  int result = 0;
  switch (call) {
  case 0:
    result = ppoll(NULL, 0, &second, mask);
    break;
  case 1:
    result = pselect(0, NULL, NULL, NULL, &second, mask);
    break;
  case 2:
    result = epoll_pwait(poller, &event, 1, 5000, mask);
    break;
  case 3:
    result = (int)syscall(SYS_epoll_pwait2, poller, &event, 1, &second, mask, 8);
    break;
  case 4:
    result = sigsuspend(mask);
    break;
  }
  printf("%s: %d %s\n", what, result, result < 0 ? strerrorname_np(errno) : "");
  show_current("after it");
  close(poller);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  sigset_t base = set_of(SIGALRM, SIGUSR2), mask = set_of(SIGCHLD, 0), old;
  sigaddset(&base, SIGUSR1);
  sigprocmask(SIG_SETMASK, &base, &old);
  for (int call = 0; call < 5; call++) {
    handle(SIGALRM, 0, 0);
    raise(SIGALRM);
    wait_in(call, &mask);
    // Its own signal stays open, and another one is blocked.
    handle(SIGALRM, SA_NODEFER, SIGHUP);
    raise(SIGALRM);
    wait_in(call, &mask);
    // A handler in a handler: the second returns to the first.
    handle(SIGALRM, 0, 0);
    handle(SIGUSR1, 0, 0);
    nested = 1;
    raise(SIGALRM);
    wait_in(call, &mask);
    // Two that are pending: one frame on the other.
    raise(SIGALRM);
    raise(SIGUSR1);
    wait_in(call, &mask);
    // One of them is blocked in the call, too, and comes when it is let in.
    sigset_t both = set_of(SIGCHLD, SIGUSR1);
    raise(SIGALRM);
    raise(SIGUSR1);
    wait_in(call, &both);
    sigset_t one = set_of(SIGUSR1, 0);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    sigprocmask(SIG_SETMASK, &base, NULL);
    // A jump out of the handler, with the mask of sigsetjmp and without.
    for (volatile int save = 0; save < 2; save++) {
      jumps = 1;
      raise(SIGALRM);
      if (sigsetjmp(out, save) == 0) wait_in(call, &mask);
      jumps = 0;
      show_current("after a jump");
      sigprocmask(SIG_SETMASK, &base, NULL);
    }
  }
  // A timer, while it waits.
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  struct itimerspec soon = {.it_value = {0, 20000000}};
  for (int call = 0; call < 5; call++) {
    timer_settime(timer, 0, &soon, NULL);
    wait_in(call, &mask);
  }
  // Ready at once: the mask is the old one when the signal comes.
  int ends[2];
  pipe(ends);
  write(ends[1], "x", 1);
  struct pollfd ready = {ends[0], POLLIN, 0};
  what = "ready";
  raise(SIGALRM);
  struct timespec second = {5, 0};
  printf("ppoll %d\n", ppoll(&ready, 1, &second, &mask));
  show_current("after it");
  sigset_t alarm = set_of(SIGALRM, 0);
  sigprocmask(SIG_UNBLOCK, &alarm, NULL);
  show_current("at the end");
  return 0;
}
