// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Jumps out of many frames at once: whatever predicts returns must not believe that frames end in order.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static jmp_buf g_top;
static sigjmp_buf g_signal;
static volatile int g_frames;

__attribute__((noinline)) static int deeper(int depth, int leave_at) {
  g_frames++;
  if (depth == leave_at) longjmp(g_top, depth + 1);
  int result = deeper(depth + 1, leave_at) + depth;
  return result + (int)strlen("x");
}

__attribute__((noinline)) static int plain(int n) {
  return n < 2 ? n : plain(n - 1) + plain(n - 2);
}

static void on_segv(int signal_number) {
  (void)signal_number;
  siglongjmp(g_signal, 5);
}

int main(void) {
  volatile long sum = 0;
  for (volatile int i = 0; i < 200; i++) {
    int value = setjmp(g_top);
    if (value == 0) deeper(0, i % 37);
    sum += value * 3 + plain(i % 10);
  }
  printf("sum %ld frames %d\n", sum, g_frames);

  // Jumping back into a live loop from below it, again and again.
  volatile int turns = 0;
  jmp_buf loop;
  setjmp(loop);
  if (++turns < 1000) longjmp(loop, 1);
  printf("turns %d\n", turns);

  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_segv;
  sigaction(SIGSEGV, &action, NULL);
  volatile int faults = 0;
  for (volatile int i = 0; i < 50; i++) {
    if (sigsetjmp(g_signal, 1) == 0) {
      *(volatile int*)(long)(8 + i) = 1;
      printf("not reached\n");
    } else {
      faults++;
    }
  }
  sigset_t mask;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  printf("faults %d blocked %d\n", faults, sigismember(&mask, SIGSEGV));
  return 0;
}
