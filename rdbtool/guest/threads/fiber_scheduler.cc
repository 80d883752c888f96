// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns where all guest threads live in one OS thread: who waits switches to the stack of whoever may run.
// When nobody may, this is where the process sleeps.
#include "rdbtool/guest/threads/scheduler.h"

#include <algorithm>
#include <csignal>
#include <poll.h>

namespace rdb::guest {
namespace {

// At most this long without looking whether something has happened: a signal that comes just before the sleep
// begins does not end it.
constexpr long kLongestNap = 5'000'000;
constexpr long kShortNap = 500'000; // while a call in the kernel is tried again and again

bool before(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

bool expired(const Thread& thread) {
  if (!thread.deadline) return false;
  timespec now;
  clock_gettime(thread.clock, &now);
  return !before(now, *thread.deadline);
}

void nap(long nanoseconds) {
  timespec time{0, nanoseconds};
  ppoll(nullptr, 0, &time, nullptr);
}

} // namespace

void Scheduler::stir_waiters() {
  for (Thread* thread : waiting_) {
    if (thread->queued || thread->stirred != Woken::granted || is_running(*thread) || thread->woken) continue;
    if (thread->pending)
      thread->stirred = Woken::interrupted;
    else if (expired(*thread))
      thread->stirred = Woken::timed_out;
    else
      continue;
    make_ready(*thread);
  }
}

void Scheduler::switch_away(Thread& self) {
  while (running_ != &self) {
    if (over_) throw ProcessOver{}; // the first stack is where the process ends
    if (Thread* next = running_; next != nullptr)
      fibers_->switch_to(*next);
    else
      idle();
  }
  consume_grant(self);
}

void Scheduler::idle() {
  stir_waiters();
  if (running_ != nullptr) return;
  if (on_idle_) on_idle_();
  nap(kLongestNap);
  stir_waiters();
}

Scheduler::Woken Scheduler::wait_in_fiber(Thread& self, clockid_t clock,
                                          const std::optional<timespec>& deadline) {
  self.clock = clock;
  self.deadline = deadline;
  self.stirred = Woken::granted;
  waiting_.push_back(&self);
  switch_away(self);
  std::erase(waiting_, &self);
  return self.stirred;
}

void Scheduler::try_later(Thread& self) {
  self.trying = true;
  stir_waiters();
  bool all_try = std::all_of(ready_.begin(), ready_.end(), [](const Thread* t) { return t->trying; });
  if (all_try) nap(kShortNap);
  stir_waiters();
  pass(self);
  self.trying = false;
}

void Scheduler::leave() {
  while (running_ == nullptr)
    idle();
  fibers_->switch_to(*running_);
}

} // namespace rdb::guest
