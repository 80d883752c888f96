// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an instruction may have done before it faulted. Most instructions do all of their work or none. Those
// that consist of several accesses do part of it and leave the CPU in a state that depends on where the fault
// came: how far depends on the CPU and on the system's memory, so no one can compute it afterwards without
// having seen it.
#pragma once

#include "rdbtool/engine/instructions/operand.h"

namespace rdb::engine {

struct PartialWork {
  // A string instruction that repeats: rcx, rsi and rdi tell how far it came.
  bool repeats = false;
  // A gather or scatter, which clears the mask of elements that are done, or a load of the extended state.
  bool changes_vectors = false;
  // What it may have written, except of a string instruction: that part lies before where the registers
  // point.
  std::vector<MemoryAccess> written;
};

// For the instruction that the engine's registers have faulted at.
PartialWork partial_work(const Instruction& instruction, Engine& engine);

} // namespace rdb::engine
