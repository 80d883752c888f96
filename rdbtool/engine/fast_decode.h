// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The quick part of decode(): see there.
#pragma once

#include "rdbtool/engine/decode.h"

namespace rdb::engine {

// Fills in a fresh `out` and returns true, or returns false (and leaves it in any state) for an instruction
// that takes a full decoder.
bool decode_fast(uint64_t pc, const uint8_t* bytes, size_t size, Instruction& out);

// decode() without the quick part, to check one against the other.
bool decode_fully(uint64_t pc, const uint8_t* bytes, size_t size, Instruction& out);

} // namespace rdb::engine
