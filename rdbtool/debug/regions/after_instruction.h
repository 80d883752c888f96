// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What "after an instruction" means for a thread that is about to execute it: when it comes to the next one,
// or to where a call returns, in the same frame; and not at all if a branch goes elsewhere, or if the call is
// left in another way, by longjmp() or an exception, and the thread comes by there later.
#pragma once

#include "rdbtool/replay/replayer.h"

#include <unordered_map>
#include <vector>

namespace rdb::debug {

class After {
public:
  // The thread is before the instruction at `pc`, which somebody waits for.
  void expect(replay::Replayer& replayer, uint64_t pc);

  // The thread is at `pc`: the addresses of the instructions that are thereby done, in `out`.
  void arrive(replay::Replayer& replayer, uint64_t pc, std::vector<uint64_t>& out);

  bool waits() const { return !waiting_.empty(); }

  // One of kJumpsOut, in the guest.
  void add_jump(uint64_t function) { jumps_.push_back(function); }

private:
  struct Waiting {
    uint64_t instruction;
    ThreadId thread;
    uint64_t sp;  // of a call, when it has returned
    bool is_call; // else the stack pointer does not matter
  };
  std::unordered_map<uint64_t, std::vector<Waiting>> waiting_; // by the address that is waited for
  std::vector<uint64_t> jumps_;
  size_t jumps_hooked_ = 0; // as soon as calls are waited for
};

} // namespace rdb::debug
