// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls whose return somebody waits for, by the address that they return to. A call is noted without leaving
// the guest's code for long where nobody wants to know of the entry and nothing has to be allocated.
#pragma once

#include "rdbtool/debug/events/nonlocal_exit.h"
#include "rdbtool/replay/replayer.h"

#include <memory>
#include <unordered_map>

namespace rdb::debug {

class Returns {
public:
  struct Call {
    uint64_t function;
    ThreadId thread;
    uint64_t sp; // when it has returned
  };

  // `arrived`: what is called where a call returns to.
  explicit Returns(const engine::DirectHook& arrived) : arrived_(arrived) {}
  Returns(const Returns&) = delete;
  Returns& operator=(const Returns&) = delete;

  // The function at `pc` is entered.
  void expect(replay::Replayer& replayer, uint64_t pc);
  // The same from a fast hook, if it can be done there.
  bool note(uint64_t pc, const engine::Registers& registers);
  // The function that was called last from in front of `pc`; 0 if there is none.
  uint64_t last(uint64_t pc) const;
  // Like arrive(), from a fast hook: true if that one has returned, and no other.
  bool take(uint64_t pc, const engine::Registers& registers);
  // The functions that have returned to `pc`, the innermost last.
  const std::vector<uint64_t>& arrive(replay::Replayer& replayer, uint64_t pc);
  // Those do not return.
  void leave(ThreadId thread, const CallsLeft& left);
  void clear(replay::Replayer& replayer);

private:
  // A call that is noted may show that an older one was left in another way, by longjmp() or an exception.
  // One of another function at the same place may have ended in a jump to this one.
  static bool may_be_over(const Call& older, const Call& call) {
    return older.thread == call.thread &&
           (older.sp < call.sp || (older.sp == call.sp && older.function == call.function));
  }
  // Of a call to return to `pc`, while its thread's stack pointer is above: was it left, or is it on another
  // stack (a coroutine's, a signal handler's)?
  static bool was_left(replay::Replayer& replayer, const Call& older, uint64_t sp, uint64_t pc);
  struct Waiting {
    std::unique_ptr<Call[]> calls;
    size_t size = 0;
    size_t room = 0;
  };
  Waiting& waiting_at(replay::Replayer& replayer, uint64_t pc);
  static void grow(Waiting& waiting);

  engine::DirectHook arrived_;
  replay::Replayer* replayer_ = nullptr;
  std::unordered_map<uint64_t, Waiting> waiting_;
  engine::PcTable<Waiting> by_pc_; // the same, for those in a hurry
  std::vector<uint64_t> returned_; // kept from time to time: to make it anew costs more than the rest
};

} // namespace rdb::debug
