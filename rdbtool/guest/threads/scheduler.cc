// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/guest/threads/scheduler.h"

#include "rdbtool/base/raw_syscall.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "rdbtool/guest/threads/chaos.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <utility>

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

Scheduler::Scheduler(const TurnOptions& options, std::function<uint64_t()> clock)
    : options_(options), clock_(std::move(clock)), chaos_(std::make_unique<Chaos>(options.seed)) {}

Scheduler::~Scheduler() = default;

uint64_t Scheduler::turn_length() {
  std::lock_guard guard(mutex_);
  if (options_.chaos) return chaos_->turn_length(clock_());
  return options_.one_thread ? 1 + chaos_->random() % (2 * options_.chunk) : options_.chunk;
}

uint64_t Scheduler::search_length() {
  if (!options_.chaos) return 0;
  std::lock_guard guard(mutex_);
  return chaos_->search_length();
}

bool Scheduler::ends_turn_at(uint64_t address) {
  std::lock_guard guard(mutex_);
  return chaos_->ends_turn_at(address);
}

void Scheduler::begin_chaos() {
  std::lock_guard guard(mutex_);
  chaos_->begin();
}

size_t Scheduler::choose(size_t count) {
  if (!options_.chaos || count < 2) return 0;
  std::lock_guard guard(mutex_);
  return chaos_->random() % count;
}

uint64_t Scheduler::signal_delay() {
  if (!options_.chaos) return 0;
  std::lock_guard guard(mutex_);
  return chaos_->random() % (1ull << chaos_->random() % 14);
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

Thread* Scheduler::take_next() {
  cut_short_ = false;
  if (ready_.empty()) return nullptr;
  size_t index = options_.chaos ? chaos_->choose(ready_, clock_()) : 0;
  Thread* next = ready_[index];
  ready_.erase(ready_.begin() + static_cast<ptrdiff_t>(index));
  ready_count_ = ready_.size();
  next->queued = false;
  return next;
}

void Scheduler::make_ready(Thread& thread) {
  std::lock_guard guard(mutex_);
  Thread* running = running_;
  if (running == nullptr && !thread.held) {
    grant(thread);
    return;
  }
  enqueue(thread);
  if (options_.chaos && running != nullptr && !thread.held && chaos_->comes_first(thread, *running))
    cut_short_ = true;
}

void Scheduler::enqueue(Thread& thread) {
  if (thread.queued || running_ == &thread) return;
  if (thread.held) {
    thread.wants_turn = true;
    return;
  }
  thread.queued = true;
  ready_.push_back(&thread);
  ready_count_ = ready_.size();
}

void Scheduler::hold(Thread& thread) {
  std::lock_guard guard(mutex_);
  thread.held = true;
  thread.wants_turn = std::exchange(thread.queued, false);
  std::erase(ready_, &thread);
  ready_count_ = ready_.size();
}

void Scheduler::let_go(Thread& thread) {
  std::lock_guard guard(mutex_);
  thread.held = false;
  if (std::exchange(thread.wants_turn, false)) enqueue(thread);
}

void Scheduler::enqueue_self(Thread& self) {
  self.queued = true;
  ready_.push_back(&self);
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
    if (options_.chaos && !cut_short_ && !self.trying) chaos_->turn_over(self, ready_, clock_());
    if (ready_.empty()) return;
    // In chaos the next turn may be its own again.
    bool stands_in_line = options_.chaos && !self.trying;
    if (stands_in_line) enqueue_self(self);
    Thread* next = take_next();
    if (next == &self) return;
    if (!stands_in_line) enqueue_self(self);
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
    if (running_ == nullptr && !over_ && !self.held) {
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
