// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns: one guest thread of a process runs at a time. The right to run is a baton that OS threads hand to
// each other; a thread that waits for it sleeps on a word of its own, so nobody spins and nobody is woken in
// vain.
#pragma once

#include "rdbtool/guest/threads/fibers.h"
#include "rdbtool/guest/threads/thread.h"
#include "rdbtool/guest/threads/turn_options.h"

#include <atomic>
#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace rdb::guest {

// Thrown out of whatever a thread does when the process ends around it.
struct ProcessOver {};

class Chaos;

class Scheduler {
public:
  // `clock` counts executed instructions.
  Scheduler(const TurnOptions& options, std::function<uint64_t()> clock);
  ~Scheduler();

  // The thread may have the baton. By the thread that holds it, or before any does.
  void make_ready(Thread& thread);
  bool others_ready() const { return ready_count_.load(std::memory_order_relaxed) != 0; }
  bool is_running(const Thread& thread) const { return running_.load() == &thread; }

  // Gives the baton away, to whoever is ready.
  void release();
  // To the next one that is ready, and waits for its own next turn.
  void pass(Thread& self);
  // Waits for it.
  void acquire(Thread& self);

  using Woken = guest::Woken;
  // Like acquire() for a thread that is not ready: until someone makes it so, the deadline, or a signal. The
  // baton is held if it was granted, and only then.
  Woken wait(Thread& self, clockid_t clock, const std::optional<timespec>& deadline);

  // All threads live in one OS thread. `on_idle` is called when nobody can run, before the process sleeps.
  void use_fibers(Fibers& fibers, std::function<void()> on_idle);
  // One OS thread: makes those ready whose deadline has passed or who have a signal.
  void stir_waiters();
  // One OS thread: what `self` wants from the kernel is not there yet; the others' turn.
  void try_later(Thread& self);
  // One OS thread: the caller's thread is gone. Does not come back.
  void leave();

  // How long a turn shall be, and which of `count` comes first.
  uint64_t turn_length();
  // In a chaotic run: how much longer it may be to end at a place where that matters.
  uint64_t search_length();
  bool ends_turn_at(uint64_t address);
  void begin_chaos();
  // In a chaotic run someone who has become ready may come first at once.
  bool cut_short() const { return cut_short_.load(std::memory_order_relaxed); }
  size_t choose(size_t count);
  // In a chaotic run a signal may come later than it could, by this many instructions.
  uint64_t signal_delay();
  const TurnOptions& options() const { return options_; }

  // Everyone who waits, or will, leaves by ProcessOver. expel() comes after end_process(), for each thread.
  void end_process() { over_ = true; }
  void expel(Thread& thread);
  bool is_over() const { return over_.load(); }

  // Around a fork, so that the child finds all of this in order; in the child, `self` runs alone.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  void reset(Thread& self);

private:
  void grant(Thread& thread);
  void enqueue(Thread& thread);
  void enqueue_self(Thread& self);
  void sleep(Thread& self);
  void consume_grant(Thread& self);
  Thread* take_next();
  Woken wait_in_fiber(Thread& self, clockid_t clock, const std::optional<timespec>& deadline);
  void switch_away(Thread& self);
  void idle();
  TurnOptions options_;
  Fibers* fibers_ = nullptr;
  std::function<void()> on_idle_;
  std::vector<Thread*> waiting_; // one OS thread only
  std::mutex mutex_;             // of ready_ and of who runs
  std::deque<Thread*> ready_;
  std::atomic<size_t> ready_count_ = 0;
  std::atomic<Thread*> running_ = nullptr;
  std::atomic<bool> over_ = false;
  std::atomic<bool> cut_short_ = false;
  std::function<uint64_t()> clock_;
  std::unique_ptr<Chaos> chaos_; // under mutex_, but for what the holder of the baton draws
};

} // namespace rdb::guest
