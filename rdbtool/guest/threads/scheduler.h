// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One guest thread of a process runs at a time, so that the log can say in which order. The right to run is a
// baton. Whoever gives it away chooses who has it next, out of the queue of threads that are ready, and wakes
// that one alone: each thread that waits sleeps on a word of its own (Thread::grant), so nobody spins and
// nobody is woken in vain.
//
// A thread is in one of these states, and these calls lead from one to the next:
//
//   running   it has the baton; there is one such thread at most
//   ready     it is in the queue, by make_ready(), acquire() or pass()
//   away      it has called release(), and is in the kernel, or waits for something by wait()
//   over      it has called release() for the last time, and a fiber then leave()
//
//   release()   gives the baton away, to the first thread in the queue (in a chaotic run, to any one). If
//               the queue is empty, the baton is free.
//   acquire()   takes the baton if it is free, or else queues for it.
//   pass()      release() and acquire() in one, for a turn that is over: the thread goes to the end of the
//               queue. If nobody else is ready, it goes on.
//   wait()      after release(): waits until another thread calls make_ready() for this one, which then has
//               the baton when it is its turn; or until a deadline or a signal, and then it must acquire().
//   expel()     the process ends: makes one thread leave what it waits for. It throws ProcessOver there.
//
// Where all guest threads are fibers of one OS thread (fiber_scheduler.cc), to sleep is to switch to the
// stack of the thread that has the baton. If nobody has it, somebody must sleep for all of them: idle().
// Deadlines and signals do not wake anybody there, so stir_waiters() looks for them now and then; and a call
// that would block goes to the end of the queue, to be made again on the thread's next turn: try_later().
//
// Turns (turns.h) says what a turn is for the machine, and Baton (baton.h) what it is for a system call.
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

  // A thread that is not running gets no turn until it is let go.
  void hold(Thread& thread);
  void let_go(Thread& thread);

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
