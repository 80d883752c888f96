// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses what to translate: the straight code at an address, or one instruction of it.
#pragma once

#include "rdbtool/engine/translate/translate.h"

#include <optional>
#include <unordered_set>
#include <vector>

namespace rdb::engine {

inline constexpr size_t kLongestSuperblock = 128; // instructions on a hot path
inline constexpr size_t kLongestUnit = 32; // instructions of straight code that are stepped over at once

using StopSet = std::unordered_set<uint64_t>;

struct Path {
  std::vector<PathStep> steps;
  PathEnd end = PathEnd::goes_on;
  CodeTrust trust = CodeTrust::watched;
  bool x87 = false; // may use x87 or MMX
  // No instruction could be fetched: the first address that cannot be executed.
  uint64_t fault_address = 0;
};

// The basic block at pc, at most `most` instructions, ending before addresses in `stops` (the first
// instruction is taken in any case).
void find_basic(GuestMemory& memory, const StopSet& stops, uint64_t pc, size_t most, Path& out);

// The one instruction at pc; nothing if the guest cannot execute it.
std::optional<Instruction> instruction_at(GuestMemory& memory, uint64_t pc);

} // namespace rdb::engine
