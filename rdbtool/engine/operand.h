// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which memory an instruction is about to touch, computed from its operands and the registers.
#pragma once

#include "rdbtool/engine/decode.h"

#include <vector>

namespace rdb::engine {

struct MemoryAccess {
  uint64_t address = 0;
  uint32_t size = 0;
  bool read = false;
  bool write = false;
};

// All memory operands, implicit ones (push, call, string instructions) included. A `rep` is one access that
// covers all its iterations; a gather one per element that is not masked is approximated by none.
std::vector<MemoryAccess> memory_accesses(const Instruction& instruction, const Registers& regs);

// The address of the explicit memory operand.
uint64_t operand_address(const Instruction& instruction, const Registers& regs);

} // namespace rdb::engine
