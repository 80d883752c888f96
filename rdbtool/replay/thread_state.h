// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The registers of any thread of a replay, loaded or not, as one value.
#pragma once

#include "rdbtool/base/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rdb::replay {

class Replayer;

struct ThreadState {
  // In the order of their encoding: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 ... r15.
  std::array<uint64_t, 16> gpr{};
  uint64_t rip = 0;
  uint64_t rflags = 0;
  uint64_t fs_base = 0;
  uint64_t gs_base = 0;
  std::vector<std::byte> vectors; // x87, SSE, AVX in the standard XSAVE layout

  bool in_call = false; // it has made a system call whose result is not there yet; rax is the call's number
};

// The loaded thread if there is none of this id.
ThreadState read_thread(Replayer& replayer, ThreadId id);
// The thread is loaded from then on.
void write_thread(Replayer& replayer, ThreadId id, const ThreadState& state);

} // namespace rdb::replay
