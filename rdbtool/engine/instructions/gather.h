// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gathers and scatters: one instruction that touches many places, whose distances are in a vector register.
// A mask chooses among them.
#pragma once

#include "rdbtool/engine/engine.h"

#include <Zydis/Zydis.h>
#include <cstdint>
#include <vector>

namespace rdb::engine {

struct Gather {
  uint32_t element_size = 0;      // bytes, of what is loaded or stored
  std::vector<int64_t> distances; // from the operand's base, scaled
};

// Which elements: those that the mask chooses, or all, as if it chose each.
enum class Elements : uint8_t { chosen, all };

// Of a decoded instruction whose memory operand has a vector as its index. Reads the engine's vector
// registers.
Gather gather(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand* operands, Engine& engine,
              Elements elements);

} // namespace rdb::engine
