// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals in one thread: masks, temporary masks, alternate stacks, restarts, queues, stops and timers.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int caught, depth, deepest;
static volatile int order[64];

static void count(int signal) {
  order[caught & 63] = signal;
  ++caught;
}

static void nested(int signal) {
  (void)signal;
  if (++depth > deepest) deepest = depth;
  if (deepest < 5) raise(SIGUSR1);
  --depth;
}

static char* stack_begin;
static volatile int on_stack, armed;

static void on_alternate(int signal, siginfo_t* info, void* context) {
  (void)info;
  char here;
  stack_t now;
  on_stack = &here >= stack_begin && &here < stack_begin + 65536;
  sigaltstack(NULL, &now);
  armed = now.ss_flags;
  order[0] = signal;
  order[1] = ((ucontext_t*)context)->uc_stack.ss_flags;
}

static void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigaction(signal, &action, NULL);
}

static void show(const char* what, long result) {
  printf("%s: %ld %s, caught %d\n", what, result, result < 0 ? strerrorname_np(errno) : "", caught);
  caught = 0;
}

static sigset_t set_of(int signal) {
  sigset_t set;
  sigemptyset(&set);
  if (signal) sigaddset(&set, signal);
  return set;
}

// Returns when a process waits in a call, and has waited for a moment.
static void await_sleep(pid_t process) {
  char path[32], text[256];
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  for (int asleep = 0; asleep < 3; usleep(10000)) {
    int file = open(path, O_RDONLY);
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    text[size < 0 ? 0 : size] = '\0';
    const char* state = strrchr(text, ')');
    asleep = state && state[1] && state[2] == 'S' ? asleep + 1 : 0;
  }
}

// A child that sends a signal when its parent waits, and again.
static pid_t sender(int signal, int times, int write_end) {
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < times; ++i) {
      await_sleep(parent);
      kill(parent, signal);
    }
    await_sleep(parent);
    if (write_end >= 0) write(write_end, "x", 1);
    _exit(0);
  }
  return child;
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  handle(SIGUSR1, count, 0);
  show("raise", raise(SIGUSR1));
  show("kill", kill(getpid(), SIGUSR1));
  handle(SIGUSR1, count, SA_RESETHAND);
  raise(SIGUSR1);
  struct sigaction old;
  sigaction(SIGUSR1, NULL, &old);
  show("reset", old.sa_handler == SIG_DFL);
  handle(SIGUSR1, nested, SA_NODEFER);
  raise(SIGUSR1);
  printf("nested %d\n", deepest);

  // Blocked, pending, and delivered when the mask opens.
  handle(SIGUSR1, count, 0);
  handle(SIGUSR2, count, 0);
  sigset_t all, before, one = set_of(SIGUSR1);
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  raise(SIGUSR1);
  raise(SIGUSR1);
  sigset_t pending;
  sigpending(&pending);
  show("pending", sigismember(&pending, SIGUSR1));
  sigprocmask(SIG_SETMASK, &before, NULL);
  show("opened", 0);
  // Queued ones in order, the lowest number first.
  for (int signal = SIGRTMIN; signal < SIGRTMIN + 3; ++signal)
    handle(signal, count, 0);
  sigprocmask(SIG_SETMASK, &all, NULL);
  union sigval value = {.sival_int = 1};
  sigqueue(getpid(), SIGRTMIN + 2, value);
  sigqueue(getpid(), SIGRTMIN + 1, value);
  sigqueue(getpid(), SIGRTMIN + 1, value);
  sigqueue(getpid(), SIGRTMIN, value);
  // They stack up: the handler of the highest runs first, the others on top of it before it.
  sigprocmask(SIG_SETMASK, &before, NULL);
  printf("queued: %d %d %d %d\n", order[0] - SIGRTMIN, order[1] - SIGRTMIN, order[2] - SIGRTMIN,
         order[3] - SIGRTMIN);
  show("queued", 0);
  sigprocmask(SIG_SETMASK, &all, NULL);
  value.sival_int = 4711;
  sigqueue(getpid(), SIGRTMIN, value);
  siginfo_t info;
  sigset_t wanted = set_of(SIGRTMIN);
  int got = sigwaitinfo(&wanted, &info);
  printf("sigwaitinfo: %d %d %d\n", got == SIGRTMIN, info.si_value.sival_int, info.si_code == SI_QUEUE);
  struct timespec brief = {0, 1000000};
  show("sigtimedwait", sigtimedwait(&wanted, &info, &brief));
  int fd = signalfd(-1, &one, SFD_NONBLOCK);
  raise(SIGUSR1);
  struct signalfd_siginfo record;
  ssize_t n = read(fd, &record, sizeof record);
  printf("signalfd: %d %d\n", n == sizeof record, n > 0 && record.ssi_signo == SIGUSR1);
  sigprocmask(SIG_SETMASK, &before, NULL);

  // With a mask for the time of a call.
  sigprocmask(SIG_BLOCK, &one, NULL);
  raise(SIGUSR1);
  sigset_t none = set_of(0);
  show("sigsuspend", sigsuspend(&none));
  raise(SIGUSR1);
  struct timespec long_time = {5, 0};
  show("ppoll", ppoll(NULL, 0, &long_time, &none));
  raise(SIGUSR1);
  show("pselect", pselect(0, NULL, NULL, NULL, &long_time, &none));
  raise(SIGUSR1);
  int epoll = epoll_create1(0);
  struct epoll_event event;
  show("epoll_pwait", epoll_pwait(epoll, &event, 1, 5000, &none));
  sigprocmask(SIG_SETMASK, NULL, &pending);
  show("blocked again", sigismember(&pending, SIGUSR1));
  sigprocmask(SIG_SETMASK, &before, NULL);

  // Alternate stacks.
  stack_begin = malloc(65536);
  stack_t stack = {.ss_sp = stack_begin, .ss_size = 65536};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_sigaction = on_alternate, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGUSR2, &action, NULL);
  raise(SIGUSR2);
  printf("alternate stack: %d, flags %d, in the frame %d\n", on_stack, armed, order[1]);
  stack.ss_flags = (int)(1u << 31); // SS_AUTODISARM
  sigaltstack(&stack, NULL);
  raise(SIGUSR2);
  printf("disarmed: %d, flags %d, in the frame %x\n", on_stack, armed, order[1]);
  sigaltstack(NULL, &stack);
  printf("afterwards %x\n", stack.ss_flags);

  // Interrupted and restarted calls.
  int ends[2];
  char byte;
  pipe(ends);
  handle(SIGUSR1, count, 0);
  pid_t child = sender(SIGUSR1, 1, ends[1]);
  show("read", read(ends[0], &byte, 1));
  waitpid(child, NULL, 0);
  show("read then", read(ends[0], &byte, 1));
  handle(SIGUSR1, count, SA_RESTART);
  child = sender(SIGUSR1, 2, ends[1]);
  show("read restarted", read(ends[0], &byte, 1));
  waitpid(child, NULL, 0);
  child = sender(SIGUSR1, 1, -1);
  struct timespec rest, quarter = {0, 250000000}, minute = {60, 0};
  show("nanosleep", nanosleep(&minute, &rest));
  printf("left: %d\n", rest.tv_sec < 60);
  waitpid(child, NULL, 0);
  child = sender(SIGUSR1, 1, -1);
  struct pollfd poll_end = {ends[0], POLLIN, 0};
  show("poll", poll(&poll_end, 1, 60000));
  waitpid(child, NULL, 0);
  // Ignored ones and those without a handler do not interrupt.
  signal(SIGUSR1, SIG_IGN);
  child = sender(SIGUSR1, 1, -1);
  show("sleep over an ignored one", nanosleep(&quarter, &rest));
  waitpid(child, NULL, 0);
  child = sender(SIGWINCH, 1, -1);
  show("sleep over an unimportant one", nanosleep(&quarter, &rest));
  waitpid(child, NULL, 0);

  // Stopped and continued.
  int status;
  child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    for (;;)
      pause();
  }
  waitpid(child, &status, WUNTRACED);
  printf("stopped %d by %d\n", WIFSTOPPED(status), WSTOPSIG(status));
  kill(child, SIGCONT);
  waitpid(child, &status, WCONTINUED);
  printf("continued %d\n", WIFCONTINUED(status));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  printf("killed %d\n", WTERMSIG(status));
  handle(SIGCHLD, count, SA_NOCLDSTOP);
  child = fork();
  if (child == 0) _exit(0);
  while (waitpid(child, &status, 0) < 0)
    ;
  show("child", 0);
  signal(SIGCHLD, SIG_DFL);

  // A storm of timers into loops that count on their flags.
  handle(SIGALRM, count, SA_RESTART);
  struct itimerval timer = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &timer, NULL);
  unsigned long sum = 0, wrong = 0;
  for (int round = 0; round < 3000 || caught < 50; ++round) {
    unsigned long low = ~0ul, high = 0, carries = 0;
    for (int i = 0; i < 100; ++i)
      __asm__ volatile("add $1, %0\n\tadc $0, %1\n\tmov $5, %%ecx\n1:\tdec %%ecx\n\tjnz 1b\n\tadc $0, %2"
                       : "+r"(low), "+r"(high), "+r"(carries)
                       :
                       : "ecx", "cc");
    sum += high;
    wrong += high != 1 || carries != 0;
  }
  timer = (struct itimerval){0};
  setitimer(ITIMER_REAL, &timer, NULL);
  printf("storm: %d wrong %lu\n", caught >= 50, wrong);
  (void)sum;
  timer_t id;
  struct sigevent notify = {
      .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 5};
  timer_create(CLOCK_MONOTONIC, &notify, &id);
  struct itimerspec when = {.it_value = {0, 1000000}};
  caught = 0;
  sigset_t expiry = set_of(SIGRTMIN);
  sigprocmask(SIG_BLOCK, &expiry, NULL);
  timer_settime(id, 0, &when, NULL);
  while (!caught)
    sigsuspend(&none);
  sigprocmask(SIG_UNBLOCK, &expiry, NULL);
  show("timer", 0);
  alarm(1);
  show("alarm", alarm(0));
  signal(SIGALRM, SIG_DFL);
  raise(SIGALRM);
  return 1;
}
