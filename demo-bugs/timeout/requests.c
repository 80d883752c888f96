// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "requests.h"

#include "pool.h"
#include "statistics.h"

#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

static volatile long ticks;
static long numbers;

static void on_tick(int signal) {
  (void)signal;
  ticks++;
  for (int i = 0; i < kSlots; i++) {
    struct slot* slot = pool_slot(i);
    if (!slot->waiting || slot->deadline > ticks) continue;
    slot->waiting = false;
    statistics_expired(slot->backend);
    pool_give(slot);
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

bool request_send(int backend, long patience) {
  if (!backend_has_room(backend)) return false;
  struct slot* slot = pool_take();
  if (!slot) return false;
  slot->backend = backend;
  slot->number = ++numbers;
  slot->begin = ticks;
  slot->deadline = slot->begin + patience;
  slot->waiting = true;
  backend_send(backend, (struct ticket){slot, slot->number});
  return true;
}

static void reply(struct ticket ticket) {
  struct slot* slot = ticket.slot;
  if (!slot->waiting || slot->number != ticket.number) {
    statistics_late();
    return;
  }
  slot->waiting = false;
  statistics_answered(slot->backend, ticks - slot->begin);
  pool_give(slot);
}

void requests_receive(void) {
  struct ticket ticket;
  for (int i = 0; i < backends_count(); i++)
    if (backend_work(i, &ticket)) reply(ticket);
}

int requests_waiting(void) {
  int count = 0;
  for (int i = 0; i < kSlots; i++)
    count += pool_slot(i)->waiting;
  return count;
}
