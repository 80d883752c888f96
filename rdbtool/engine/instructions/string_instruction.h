// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// String instructions that repeat (`rep movsb` and its relatives). They are single instructions that the CPU
// may leave at every element: a fault in the middle leaves registers that say how far they came, and
// execution goes on from there. Those who look at such a moment need to know what the instruction does to one
// element.
#pragma once

#include "rdbtool/engine/instructions/decode.h"

#include <optional>

namespace rdb::engine {

struct StringInstruction {
  enum class Operation : uint8_t { movs, stos, lods, cmps, scas } operation = Operation::movs;
  uint32_t size = 1;      // bytes of one element
  bool address32 = false; // esi, edi and ecx are used, not rsi, rdi and rcx
  uint8_t segment = 0;    // FS or GS override byte of the source, 0 if none

  bool has_source() const { return operation != Operation::stos && operation != Operation::scas; }
  bool has_destination() const { return operation != Operation::lods; } // reads it, writes it or both
  bool writes() const { return operation == Operation::movs || operation == Operation::stos; }
  // The number of iterations depends on rcx alone, not on what memory holds.
  bool runs_to_the_end() const { return operation != Operation::cmps && operation != Operation::scas; }
};

// What it touches if it does all its iterations: where the lowest bytes are, and how many there are.
struct StringOperands {
  uint64_t source = 0;
  uint64_t destination = 0;
  uint64_t size = 0;
  bool backwards = false;
};
StringOperands operands_of(const StringInstruction& string, const Registers& registers);

// The instruction as one that repeats; nothing if it is another one, or has no prefix that makes it repeat.
std::optional<StringInstruction> repeated_string(const Instruction& instruction);

} // namespace rdb::engine
