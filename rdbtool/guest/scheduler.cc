// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/scheduler.h"

#include "rdbtool/guest/host_signals.h"
#include "rdbtool/guest/raw_syscall.h"

#include <cerrno>
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>

namespace rdb::guest {
namespace {

// What a thread's word says.
constexpr uint32_t kWaiting = 0;
constexpr uint32_t kGranted = 1;
constexpr uint32_t kLeave = 2;

int64_t address_of(std::atomic<uint32_t>& word) {
  return reinterpret_cast<int64_t>(&word);
}

} // namespace

Scheduler::Scheduler(const TurnOptions& options) : options_(options), random_(options.seed) {}

uint64_t Scheduler::random() {
  random_ += 0x9E3779B97F4A7C15ull;
  uint64_t z = random_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

uint64_t Scheduler::turn_length() {
  if (!options_.chaos) return options_.one_thread ? 1 + random() % (2 * options_.chunk) : options_.chunk;
  // Of every order of magnitude: races hide in short stretches as well as in long ones.
  uint64_t largest = 1ull << random() % 18;
  return 1 + random() % largest;
}

size_t Scheduler::choose(size_t count) {
  return options_.chaos && count > 1 ? random() % count : 0;
}

uint64_t Scheduler::signal_delay() {
  return options_.chaos ? random() % (1ull << random() % 14) : 0;
}

// Now and then some threads are left behind for a while: what they were about to do comes late.
void Scheduler::shuffle_priorities() {
  if (turns_to_shuffle_-- != 0) return;
  turns_to_shuffle_ = random() % 64;
  ++epoch_;
}

void Scheduler::grant(Thread& thread) {
  running_ = &thread;
  thread.grant.store(kGranted);
  if (fibers_ == nullptr) raw_syscall(SYS_futex, address_of(thread.grant), FUTEX_WAKE_PRIVATE, 1);
}

void Scheduler::use_fibers(Fibers& fibers, std::function<void()> on_idle) {
  fibers_ = &fibers;
  on_idle_ = std::move(on_idle);
}

void Scheduler::consume_grant(Thread& self) {
  if (over_) throw ProcessOver{};
  uint32_t granted = kGranted;
  self.grant.compare_exchange_strong(granted, kWaiting);
}

size_t Scheduler::choose_by_priority() {
  shuffle_priorities();
  // A thread's priority follows from its number and the epoch, so that it needs no memory.
  std::vector<size_t> best;
  bool favoured = false;
  for (size_t i = 0; i < ready_.size(); ++i) {
    bool high = is_favoured(*ready_[i]);
    if (high && !favoured) best.clear();
    favoured |= high;
    if (high == favoured) best.push_back(i);
  }
  return best[choose(best.size())];
}

bool Scheduler::is_favoured(const Thread& thread) const {
  uint64_t x = (epoch_ * 0x9E3779B97F4A7C15ull) ^ (options_.seed + thread.order * 0xD1342543DE82EF95ull);
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93ull;
  return (x >> 61) != 0; // seven of eight
}

Thread* Scheduler::take_next() {
  if (ready_.empty()) return nullptr;
  size_t index = options_.chaos ? choose_by_priority() : 0;
  Thread* next = ready_[index];
  ready_.erase(ready_.begin() + static_cast<ptrdiff_t>(index));
  ready_count_ = ready_.size();
  next->queued = false;
  return next;
}

void Scheduler::make_ready(Thread& thread) {
  std::lock_guard guard(mutex_);
  if (running_ == nullptr)
    grant(thread);
  else
    enqueue(thread);
}

void Scheduler::enqueue(Thread& thread) {
  if (thread.queued || running_ == &thread) return;
  thread.queued = true;
  ready_.push_back(&thread);
  ready_count_ = ready_.size();
}

void Scheduler::release() {
  std::lock_guard guard(mutex_);
  Thread* next = take_next();
  if (next != nullptr)
    grant(*next);
  else
    running_ = nullptr;
}

void Scheduler::pass(Thread& self) {
  {
    std::lock_guard guard(mutex_);
    Thread* next = take_next();
    if (next == nullptr) return;
    self.queued = true;
    ready_.push_back(&self);
    ready_count_ = ready_.size();
    grant(*next);
  }
  sleep(self);
}

void Scheduler::sleep(Thread& self) {
  if (fibers_ != nullptr) {
    switch_away(self);
    return;
  }
  while (self.grant.load() == kWaiting)
    raw_syscall(SYS_futex, address_of(self.grant), FUTEX_WAIT_PRIVATE, kWaiting);
  consume_grant(self);
}

void Scheduler::acquire(Thread& self) {
  {
    std::lock_guard guard(mutex_);
    if (fibers_ != nullptr && running_ == &self) {
      consume_grant(self);
      return;
    }
    if (running_ == nullptr && !over_) {
      running_ = &self;
      return;
    }
    enqueue(self);
  }
  sleep(self);
}

Scheduler::Woken Scheduler::wait(Thread& self, clockid_t clock, const std::optional<timespec>& deadline) {
  if (fibers_ != nullptr) return wait_in_fiber(self, clock, deadline);
  int operation = FUTEX_WAIT_BITSET_PRIVATE | (clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0);
  const int64_t arguments[6] = {address_of(self.grant),
                                operation,
                                kWaiting,
                                reinterpret_cast<int64_t>(deadline ? &*deadline : nullptr),
                                0,
                                static_cast<int64_t>(FUTEX_BITSET_MATCH_ANY)};
  while (self.grant.load() == kWaiting) {
    int64_t result = interruptible_syscall(&self.pending, SYS_futex, arguments);
    if (self.grant.load() != kWaiting) break;
    if (self.pending) return Woken::interrupted;
    if (result == -ETIMEDOUT) return Woken::timed_out;
  }
  consume_grant(self);
  return Woken::granted;
}

void Scheduler::expel(Thread& thread) {
  thread.grant.store(kLeave);
  raw_syscall(SYS_futex, address_of(thread.grant), FUTEX_WAKE_PRIVATE, 1);
}

void Scheduler::reset(Thread& self) {
  ready_.clear();
  ready_count_ = 0;
  running_ = &self;
  self.queued = false;
  waiting_.clear();
}

} // namespace rdb::guest
