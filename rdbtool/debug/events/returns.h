// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls whose return somebody waits for, by the address that they return to. That address alone does not tell
// which call has returned: a function that calls itself returns there many times, other threads and
// coroutines come by, and calls may be abandoned or end in a jump to another function. So a call is known by
// its thread and by the stack pointer that it returns with. Most calls and returns are dealt with on the fast
// path (fast_returns.cc), which declines where anything is unusual or memory has to be allocated.
#pragma once

#include "rdbtool/debug/events/nonlocal_exit.h"
#include "rdbtool/debug/stopped_thread.h"

#include <memory>
#include <unordered_map>

namespace rdb::debug {

class Returns {
public:
  struct PendingCall {
    uint64_t function;
    ThreadId thread;
    uint64_t sp; // when it has returned
  };

  // `arrived`: what is called where a call returns to.
  explicit Returns(const engine::DirectHook& arrived) : arrived_(arrived) {}
  Returns(const Returns&) = delete;
  Returns& operator=(const Returns&) = delete;

  // The thread enters the function at `pc`.
  void expect(const StoppedThread& thread, uint64_t pc);
  // The functions that have returned to `pc`, the innermost last. Valid until the next call.
  const std::vector<uint64_t>& arrive(const StoppedThread& thread, uint64_t pc);
  // These calls do not return any more.
  void abandon(ThreadId thread, const AbandonedCalls& calls);
  void clear(engine::Translator& engine);

  // From here on for code in the guest's context.
  // As expect(), if it can be done there.
  bool expect_fast(ThreadId thread, const engine::Registers& registers, uint64_t pc);
  // The function that was called last from in front of `pc`; 0 if there is none.
  uint64_t last(uint64_t pc) const;
  // As arrive(): true if last() has returned, and no other.
  bool arrive_fast(ThreadId thread, const engine::Registers& registers, uint64_t pc);

private:
  // A call that begins may show that an older one was abandoned. One of another function with the same stack
  // pointer may have ended in a jump to this one: then both return.
  static bool may_be_over(const PendingCall& older, const PendingCall& call) {
    return older.thread == call.thread &&
           (older.sp < call.sp || (older.sp == call.sp && older.function == call.function));
  }
  // Of a call that is to return to `pc`, while its thread's stack pointer is above: was it abandoned, or is
  // it on another stack (a coroutine's, a signal handler's)?
  static bool was_abandoned(const StoppedThread& thread, const PendingCall& older, uint64_t sp, uint64_t pc);
  struct PendingCalls {
    std::unique_ptr<PendingCall[]> calls;
    size_t size = 0;
    size_t room = 0;
  };
  PendingCalls& waiting_at(const StoppedThread& thread, uint64_t pc);
  static void grow(PendingCalls& waiting);

  engine::DirectHook arrived_;
  guest::AddressSpace* space_ = nullptr; // null while nothing is waited for
  std::unordered_map<uint64_t, PendingCalls> waiting_;
  engine::PcTable<PendingCalls> by_pc_; // the same, for the fast path
  std::vector<uint64_t> returned_;      // kept from time to time: to make it anew costs more than the rest
};

} // namespace rdb::debug
