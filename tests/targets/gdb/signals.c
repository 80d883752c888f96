// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A handled signal, then a crash.
#include <signal.h>

volatile int handled;
int* volatile nowhere;

static void on_signal(int number) {
  handled = number; // handler
}

int main(void) {
  signal(SIGUSR1, on_signal);
  raise(SIGUSR1);
  int after = handled;
  *nowhere = after; // crash
  return 0;
}
