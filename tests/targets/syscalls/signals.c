// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals and the calls around them: actions, masks, waiting, queues, timers, interrupted and restarted
// calls.
#include "report.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t caught, last_value, on_alternate_stack;
static char* alternate;
static sigjmp_buf back;

static void count(int signal) {
  (void)signal;
  ++caught;
}

static void tell(int signal, siginfo_t* info, void* context) {
  (void)context;
  ++caught;
  last_value = info->si_value.sival_int;
  char here;
  on_alternate_stack = &here >= alternate && &here < alternate + SIGSTKSZ;
  char text[80];
  int size = snprintf(text, sizeof text, "  handler: signal %d code %d value %d\n", signal, info->si_code,
                      info->si_code == SI_QUEUE ? info->si_value.sival_int : 0);
  if (write(1, text, (size_t)size) != size) _exit(1);
}

static void fault(int signal, siginfo_t* info, void* context) {
  (void)context;
  last_value = info->si_code;
  caught = (uintptr_t)info->si_addr % 4096;
  siglongjmp(back, signal);
}

static void on(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  MUST(sigaction(signal, &action, NULL) == 0);
}

static void actions_and_masks(void) {
  struct sigaction action = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO | SA_ONSTACK}, old;
  sigaddset(&action.sa_mask, SIGUSR2);
  MUST(sigaction(SIGUSR1, &action, NULL) == 0);
  MUST(sigaction(SIGUSR1, NULL, &old) == 0);
  fact("sigaction flags %x masks %d", old.sa_flags & (SA_SIGINFO | SA_ONSTACK),
       sigismember(&old.sa_mask, SIGUSR2));
  fact("sigaction of SIGKILL %s", outcome(sigaction(SIGKILL, &action, NULL)));
  alternate = malloc(SIGSTKSZ);
  stack_t stack = {.ss_sp = alternate, .ss_size = SIGSTKSZ}, found;
  fact("sigaltstack %s", outcome(sigaltstack(&stack, NULL)));
  MUST(sigaltstack(NULL, &found) == 0);
  fact("alternate stack is set %d", found.ss_sp == alternate);
  MUST(raise(SIGUSR1) == 0);
  fact("caught %d on the alternate stack %d", caught, on_alternate_stack);

  sigset_t set, pending;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  fact("sigprocmask %s", outcome(sigprocmask(SIG_BLOCK, &set, NULL)));
  MUST(kill(getpid(), SIGUSR1) == 0);
  fact("blocked: caught %d", caught);
  MUST(sigpending(&pending) == 0);
  fact("pending %d %d", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGUSR2));
  sigset_t none;
  sigemptyset(&none);
  long waited = sigsuspend(&none);
  fact("sigsuspend %s caught %d", outcome(waited), caught);
  MUST(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static void queues(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 1);
  MUST(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
  for (int i = 1; i <= 3; ++i)
    MUST(sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i * 11}) == 0);
  siginfo_t info;
  for (int i = 0; i < 2; ++i) {
    int signal = sigwaitinfo(&set, &info);
    fact("sigwaitinfo %d value %d mine %d", signal - SIGRTMIN, info.si_value.sival_int,
         info.si_pid == getpid());
  }
  struct timespec none = {0, 0};
  int signal = sigtimedwait(&set, &info, &none);
  fact("sigtimedwait %d value %d", signal - SIGRTMIN, info.si_value.sival_int);
  fact("sigtimedwait for nothing %s", outcome(sigtimedwait(&set, &info, &none)));
  MUST(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static void interrupted_calls(void) {
  int ends[2];
  MUST(pipe(ends) == 0);
  char byte;
  on(SIGALRM, count, 0);
  caught = 0;
  // The timer repeats, so a signal that comes too early does not leave the call waiting.
  struct itimerval soon = {{0, 5000}, {0, 5000}}, off = {{0, 0}, {0, 0}};
  MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
  long got = read(ends[0], &byte, 1);
  const char* text = outcome(got);
  MUST(setitimer(ITIMER_REAL, &off, NULL) == 0);
  fact("read %s caught some %d", text, caught > 0);

  struct timespec sleep = {100, 0}, rest = {0, 0};
  MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
  got = nanosleep(&sleep, &rest);
  text = outcome(got);
  MUST(setitimer(ITIMER_REAL, &off, NULL) == 0);
  fact("nanosleep %s rest is plausible %d", text, rest.tv_sec >= 10 && rest.tv_sec < 100);
  changing("rest %ld.%09ld", rest.tv_sec, rest.tv_nsec);

  // With SA_RESTART the read goes on, until the handler's own write ends it.
  on(SIGALRM, count, SA_RESTART);
  MUST(write(ends[1], "!", 1) == 1);
  MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
  got = read(ends[0], &byte, 1);
  text = outcome(got);
  struct itimerval left;
  MUST(setitimer(ITIMER_REAL, &off, &left) == 0);
  fact("restarted read %s", text);
  fact("alarm %u", alarm(0));
}

static void timers(void) {
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2, .sigev_value.sival_int = 99};
  struct sigaction action = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO};
  MUST(sigaction(SIGUSR2, &action, NULL) == 0);
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  MUST(sigprocmask(SIG_BLOCK, &set, &old) == 0);
  fact("timer_create %s", outcome(timer_create(CLOCK_MONOTONIC, &event, &timer)));
  struct itimerspec setting = {{0, 0}, {0, 1000000}}, before;
  fact("timer_settime %s", outcome(timer_settime(timer, 0, &setting, &before)));
  caught = 0;
  last_value = 0;
  while (caught == 0)
    sigsuspend(&old);
  fact("timer signal %d value %d", caught, last_value);
  MUST(timer_gettime(timer, &before) == 0);
  fact("timer is off %ld overrun %d", before.it_value.tv_nsec, timer_getoverrun(timer));
  fact("timer_delete %s", outcome(timer_delete(timer)));
  MUST(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
}

static void faults(void) {
  struct sigaction action = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  MUST(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGFPE, &action, NULL) == 0);
  MUST(sigaction(SIGILL, &action, NULL) == 0 && sigaction(SIGTRAP, &action, NULL) == 0);
  char* page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int signal = sigsetjmp(back, 1);
  if (signal == 0) ((volatile char*)page)[123] = 1;
  fact("write to a read-only page: %d code %d offset %d", signal, last_value, caught);
  signal = sigsetjmp(back, 1);
  if (signal == 0) __asm__ volatile("ud2");
  fact("invalid instruction: %d code %d", signal, last_value);
  volatile int zero = 0;
  signal = sigsetjmp(back, 1);
  if (signal == 0) zero = 100 / zero;
  fact("division by zero: %d code %d", signal, last_value);
  signal = sigsetjmp(back, 1);
  if (signal == 0) __asm__ volatile("int3");
  fact("breakpoint: %d code %d", signal, last_value);
}

int main(int argc, char** argv) {
  report_start(argc, argv);
  actions_and_masks();
  queues();
  interrupted_calls();
  timers();
  faults();
  fact("kill nobody %s", outcome(kill(getpid(), 0)));
  fact("kill with a bad signal %s", outcome(kill(getpid(), 1000)));
  return 0;
}
