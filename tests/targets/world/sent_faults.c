// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals with the numbers of faults, sent by kill and tgkill: they obey the mask like all others, wait for
// it to open, do not push each other out, and come beside others.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGUSR1, SIGUSR2};
enum { kCount = sizeof numbers / sizeof numbers[0] };
static volatile int seen[65];
static volatile int by_user[65];

static void handler(int number, siginfo_t* info, void* context) {
  (void)context;
  ++seen[number];
  if (info->si_code <= 0 && info->si_pid == getpid()) ++by_user[number];
}

static void show(const char* title) {
  printf("%s:", title);
  for (int i = 0; i < kCount; ++i)
    printf(" %d=%d/%d", numbers[i], seen[numbers[i]], by_user[numbers[i]]);
  printf("\n");
  memset((void*)seen, 0, sizeof seen);
  memset((void*)by_user, 0, sizeof by_user);
}

static void* waits(void* arg) {
  // Signals to the process find the thread that lets them in.
  while (seen[SIGSEGV] + seen[SIGUSR1] < 2)
    usleep(1000);
  return arg;
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  for (int i = 0; i < kCount; ++i)
    sigaction(numbers[i], &action, NULL);
  for (int i = 0; i < kCount; ++i)
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), numbers[i]);
  show("open");

  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &all, NULL);
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < kCount; ++i)
      syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), numbers[i]);
  show("blocked");
  sigprocmask(SIG_SETMASK, &none, NULL);
  show("opened");

  for (int round = 0; round < 500; ++round) {
    kill(getpid(), SIGSEGV);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGILL);
  }
  show("many");

  pthread_t thread;
  pthread_create(&thread, NULL, waits, NULL);
  sigprocmask(SIG_SETMASK, &all, NULL);
  kill(getpid(), SIGUSR1);
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSEGV);
  sigprocmask(SIG_SETMASK, &none, NULL);
  pthread_join(thread, NULL);
  show("threads");
  return 0;
}
