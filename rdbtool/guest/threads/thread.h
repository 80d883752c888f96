// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One guest thread: what the kernel keeps for each thread, and its registers while another one is loaded into
// the engine. What all threads of a process share (signal actions, memory) belongs to the machine.
#pragma once

#include "rdbtool/base/types.h"
#include "rdbtool/engine/engine.h"
#include "rdbtool/guest/signals/signal_frame.h"

#include <atomic>
#include <ctime>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace rdb::guest {

// How a wait ends.
enum class Woken : uint8_t { granted, timed_out, interrupted };

struct Thread {
  explicit Thread(ThreadId the_id) : id(the_id) {}
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  ThreadId id;
  uint64_t order = 0; // how many were started before it

  // Valid while the thread is not the loaded one.
  engine::Registers registers;
  std::vector<std::byte> vectors;

  uint64_t mask = 0; // blocked signals
  // The one that comes back when a signal has ended a call that waits with a mask of its own (ppoll ...):
  // until the signal is delivered, `mask` is the call's.
  std::optional<uint64_t> mask_before;
  std::optional<uint64_t> mask_of_call; // while it is in such a call
  bool waited_with_mask = false;        // in a replay: a signal may have ended such a call just now
  // What the last faults of the thread were: the kernel puts it into the frames of all later signals.
  struct {
    uint64_t number = 0;
    uint64_t error_code = 0;
    uint64_t address = 0; // of the last page fault
  } last_trap;
  AlternateStack alternate_stack;
  // Of a thread that is a process of its own for the guest (tracing_child.h); others share the machine's.
  std::unique_ptr<SignalActions> own_actions;
  GuestAddr clear_child_tid; // cleared, and its waiters woken, when the thread ends
  GuestAddr robust_list;     // head of the list of locks that are marked when the thread ends

  // The thread has made a system call (or come to an input instruction) that is not answered yet.
  bool at_call = false;
  bool at_input = false;

  // A signal that the kernel has given to this thread: all asynchronous ones are blocked until it is
  // delivered. Set by the host's handler.
  volatile bool pending = false;
  PendingSignal received;
  bool delayed = false; // it has been held back for a while
  // The signal of a timer that the kernel has been given back, so that the call which the thread makes comes
  // first; all asynchronous ones are blocked meanwhile. 0: none.
  int put_back = 0;
  // When the thread last returned from a handler: a timer's next signal does not come at once.
  Time returned_at = Time(0);

  // Another thread traces this one, and has not seen yet that it has stopped.
  bool traced = false;
  bool stop_is_news = false;

  // The scheduler's: the word on which the thread sleeps until it may run, and whether it is in the queue.
  std::atomic<uint32_t> grant = 0;
  bool queued = false;
  bool held = false;       // it gets no turn
  bool wants_turn = false; // it is held, or else would be in the queue
  // Likewise, where all threads live in one OS thread: what the thread waits for, and why it waits no longer.
  std::optional<timespec> deadline;
  clockid_t clock = CLOCK_MONOTONIC;
  Woken stirred = Woken::granted;
  bool trying = false; // a call that would block is tried again
  // Signals that other threads have sent to this one.
  std::deque<PendingSignal> sent;

  // A wait for a futex is over, with this result.
  bool woken = false;
  int64_t wake_result = 0;
};

} // namespace rdb::guest
