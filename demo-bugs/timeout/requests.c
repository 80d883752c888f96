// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "requests.h"

#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

long requests_answered;
long requests_expired;
static long ticks;

static void on_tick(int signal) {
  (void)signal;
  ticks++;
  for (int i = 0; i < kSlots; i++) {
    struct slot* slot = pool_slot(i);
    if (!slot->waiting || slot->deadline > ticks) continue;
    slot->waiting = false;
    pool_give(slot);
    requests_expired++;
  }
}

static void set_timer(long microseconds) {
  struct itimerval timer = {{0, microseconds}, {0, microseconds}};
  setitimer(ITIMER_REAL, &timer, NULL);
}

void requests_start(void) {
  struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  set_timer(1000);
}

void requests_stop(void) {
  set_timer(0);
}

struct slot* request_send(long patience) {
  struct slot* slot = pool_take();
  if (!slot) return NULL;
  slot->deadline = ticks + patience;
  slot->waiting = true;
  return slot;
}

void request_reply(struct slot* slot) {
  if (!slot->waiting) return; // too late
  slot->waiting = false;
  pool_give(slot);
  requests_answered++;
}
