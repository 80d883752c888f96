// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When the instruction that a thread is about to execute is over, for regions that belong after one. The
// engine can only call a hook before an instruction, so a hook is put where the thread goes next. A branch
// may go elsewhere: then nothing is after it. A call is over when it has returned, in the same frame; and
// never if longjmp() or an exception has abandoned it, even if the thread comes by there later.
#pragma once

#include "rdbtool/debug/stopped_thread.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace rdb::debug {

class AfterInstruction {
public:
  // The thread is before the instruction at `pc`, which somebody waits for.
  void expect(const StoppedThread& thread, uint64_t pc);

  // The thread has come to `pc`. Returns the addresses of the instructions that are complete by that.
  std::vector<uint64_t> arrive(const StoppedThread& thread, uint64_t pc);

  bool waits() const { return !waiting_.empty(); }

  // Where one of kNonlocalExits begins.
  void add_nonlocal_exit(uint64_t function) { nonlocal_exits_.push_back(function); }

private:
  struct AwaitedEnd {
    uint64_t instruction;
    ThreadId thread;
    uint64_t sp;  // of a call, when it has returned
    bool is_call; // else the stack pointer does not matter
  };
  void forget_abandoned_calls(const StoppedThread& thread);

  std::unordered_map<uint64_t, std::vector<AwaitedEnd>> waiting_; // by the address that is waited for
  std::vector<uint64_t> nonlocal_exits_;
  size_t exits_hooked_ = 0; // of them; they are as soon as calls are waited for
};

} // namespace rdb::debug
