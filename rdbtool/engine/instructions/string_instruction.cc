// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/instructions/string_instruction.h"

namespace rdb::engine {

std::optional<StringInstruction> repeated_string(const Instruction& instruction) {
  using Operation = StringInstruction::Operation;
  constexpr uint8_t kRepne = 0xF2, kRep = 0xF3, kOperandSize = 0x66, kAddressSize = 0x67;
  constexpr uint8_t kFs = 0x64, kGs = 0x65;
  StringInstruction result;
  bool repeats = false, word = false, wide = false;
  for (size_t i = 0; i < instruction.length; ++i) {
    uint8_t byte = instruction.bytes[i];
    if ((byte & 0xF0) == 0x40) { // REX, which counts only right before the opcode
      wide = byte & 8;
      continue;
    }
    switch (byte) {
    case kRepne: // on movs, stos and lods the CPU takes both for the same
    case kRep:
      repeats = true;
      wide = false;
      continue;
    case kOperandSize:
      word = true;
      wide = false;
      continue;
    case kAddressSize:
      result.address32 = true;
      wide = false;
      continue;
    case kFs:
    case kGs:
      result.segment = byte;
      wide = false;
      continue;
    case 0x26: // the other segments begin at 0
    case 0x2E:
    case 0x36:
    case 0x3E:
    case 0xF0:
      wide = false;
      continue;
    default:
      break;
    }
    switch (byte & 0xFE) {
    case 0xA4:
      result.operation = Operation::movs;
      break;
    case 0xA6:
      result.operation = Operation::cmps;
      break;
    case 0xAA:
      result.operation = Operation::stos;
      break;
    case 0xAC:
      result.operation = Operation::lods;
      break;
    case 0xAE:
      result.operation = Operation::scas;
      break;
    default:
      return std::nullopt;
    }
    if (!repeats) return std::nullopt;
    if (byte & 1) result.size = wide ? 8 : word ? 2 : 4;
    return result;
  }
  return std::nullopt;
}

} // namespace rdb::engine
