// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What translated code and the host share: the loaded guest thread's registers, the instruction budget and
// the spill slots. It lies at the start of the code cache, within rip-relative reach of all translated code,
// so that neither FS nor GS is needed to find it: both segments are the guest's own.
#pragma once

#include "rdbtool/engine/engine.h"

#include <cstddef>
#include <cstdint>

namespace rdb::engine {

inline constexpr size_t kIndirectSlots = 65536;

// A place in the code cache, from its beginning; 0 is none. There are many of them.
using CodeOffset = uint32_t;

inline constexpr uint32_t kInFastCall = 1; // at most a few calls deep
inline constexpr uint32_t kInFastHook = 2; // debug code, which may need all of the stack

struct State {
  // Touched by nearly every block: one cache line.
  alignas(64) int64_t budget = 0; // instructions left; negative ends the run
  uint64_t spill_rcx = 0;
  uint64_t spill_rax = 0;
  uint64_t spill_scratch = 0;
  uint64_t indirect_target = 0;
  uint64_t watched_address = 0; // of the access that guest code was left for
  uint32_t exit_number = 0;
  uint32_t mxcsr_guest = 0x1F80;
  uint64_t resume = 0;

  // System calls and single steps first call this with only the general registers saved. It returns where to
  // go on in translated code, or 0.
  uint64_t (*fast_entry)(void*) = nullptr;
  void* fast_context = nullptr;
  CodeOffset indirect_from = 0; // code of the last indirect branch whose target was looked for
  uint32_t in_fast_call = 0;    // host code runs, but with the guest's FS base and vectors: kInFastCall ...
  // At a hook: this is called with the guest's whole state saved and returns like fast_entry. The other is
  // called first at some, like fast_entry.
  uint64_t (*hook_entry)(void*) = nullptr;
  uint64_t (*fast_hook_entry)(void*) = nullptr;

  alignas(64) Registers registers;
  uint64_t log_cursor = 0; // where the next StoreLogEntry goes; 0: stores are not logged
  uint64_t host_rsp = 0;
  uint64_t host_fs = 0;
  uint32_t mxcsr_host = 0x1F80;
  bool logs_loads = false;
  // As many of them, and of their bytes, as the CPU has.
  alignas(64) std::byte vectors[32][64] = {};
  uint64_t masks[8] = {};
};

} // namespace rdb::engine
