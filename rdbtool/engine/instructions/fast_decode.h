// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fast part of decode(): see there.
#pragma once

#include "rdbtool/engine/instructions/decode.h"

namespace rdb::engine {

// Whether an instruction behind 0F may have an MMX register. `map`: 0x38, 0x3A, or 0 for the opcodes right
// behind it.
bool may_use_mmx(uint8_t map, uint8_t opcode, bool has_66, bool has_f2_f3);

// Fills in a fresh `out` and returns true, or returns false (and leaves it in any state) for an instruction
// that takes a full decoder.
bool decode_fast(uint64_t pc, const uint8_t* bytes, size_t size, Instruction& out);

// decode() without the fast part, to check one against the other.
bool decode_fully(uint64_t pc, const uint8_t* bytes, size_t size, Instruction& out);

} // namespace rdb::engine
