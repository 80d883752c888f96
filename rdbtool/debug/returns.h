// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls whose return somebody waits for, by the address that they return to. A call is noted without leaving
// the guest's code for long where nobody wants to know of the entry and nothing has to be allocated.
#pragma once

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

  // Of this function only the return is told; or no longer so.
  void set_silent(uint64_t function, bool silent) { silent_.set(function, silent ? this : nullptr); }
  // The function at `pc` is entered.
  void expect(replay::Replayer& replayer, uint64_t pc);
  // The functions that have returned to `pc`, the innermost last.
  const std::vector<uint64_t>& arrive(replay::Replayer& replayer, uint64_t pc);
  void clear(replay::Replayer& replayer);

private:
  struct Waiting {
    std::unique_ptr<Call[]> calls;
    size_t size = 0;
    size_t room = 0;
  };
  Waiting& waiting_at(replay::Replayer& replayer, uint64_t pc);
  static void grow(Waiting& waiting);
  static bool note(void* self, uint64_t pc, const engine::Registers& registers);

  engine::DirectHook arrived_;
  replay::Replayer* replayer_ = nullptr;
  std::unordered_map<uint64_t, Waiting> waiting_;
  engine::PcTable<Waiting> by_pc_; // the same, for those in a hurry
  engine::PcTable<Returns> silent_;
  std::vector<uint64_t> returned_; // kept from time to time: to make it anew costs more than the rest
};

} // namespace rdb::debug
