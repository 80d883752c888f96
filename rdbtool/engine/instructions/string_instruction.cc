// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/instructions/string_instruction.h"

#include <algorithm>

namespace rdb::engine {
namespace {

using Operation = StringInstruction::Operation;

struct Prefixes {
  bool repeats = false;
  bool word = false; // operands of two bytes
  bool wide = false; // of eight: REX.W, which counts only right before the opcode
  bool address32 = false;
  uint8_t segment = 0;
};

// False: it is no prefix but the opcode.
bool take_prefix(uint8_t byte, Prefixes& prefixes) {
  const bool rex = (byte & 0xF0) == 0x40;
  switch (byte) {
  case 0x40 ... 0x4F:
    break;
  case 0xF2: // on movs, stos and lods the CPU takes repne for rep
  case 0xF3:
    prefixes.repeats = true;
    break;
  case 0x66:
    prefixes.word = true;
    break;
  case 0x67:
    prefixes.address32 = true;
    break;
  case 0x64: // FS and GS
  case 0x65:
    prefixes.segment = byte;
    break;
  case 0x26: // the other segments begin at 0
  case 0x2E:
  case 0x36:
  case 0x3E:
  case 0xF0: // lock
    break;
  default:
    return false;
  }
  prefixes.wide = rex && byte & 8;
  return true;
}

std::optional<Operation> operation_of(uint8_t opcode) {
  switch (opcode & 0xFE) {
  case 0xA4:
    return Operation::movs;
  case 0xA6:
    return Operation::cmps;
  case 0xAA:
    return Operation::stos;
  case 0xAC:
    return Operation::lods;
  case 0xAE:
    return Operation::scas;
  default:
    return std::nullopt;
  }
}

} // namespace

StringOperands operands_of(const StringInstruction& string, const Registers& registers) {
  constexpr uint64_t kDirectionFlag = 0x400;
  constexpr uint8_t kFs = 0x64, kGs = 0x65;
  const uint64_t mask = string.address32 ? UINT32_MAX : UINT64_MAX;
  const uint64_t count = registers.gpr[RCX] & mask;
  StringOperands result;
  result.source = registers.gpr[RSI] & mask;
  result.destination = registers.gpr[RDI] & mask;
  result.size = std::min<uint64_t>(count, UINT32_MAX) * string.size;
  result.backwards = (registers.rflags & kDirectionFlag) != 0;
  if (result.backwards && count != 0) {
    result.source -= result.size - string.size;
    result.destination -= result.size - string.size;
  }
  if (string.segment == kFs) result.source += registers.fs_base;
  if (string.segment == kGs) result.source += registers.gs_base;
  return result;
}

std::optional<StringInstruction> repeated_string(const Instruction& instruction) {
  Prefixes prefixes;
  size_t at = 0;
  while (at < instruction.length && take_prefix(instruction.bytes[at], prefixes))
    ++at;
  if (at == instruction.length || !prefixes.repeats) return std::nullopt;
  const uint8_t opcode = instruction.bytes[at];
  std::optional<Operation> operation = operation_of(opcode);
  if (!operation) return std::nullopt;
  StringInstruction result;
  result.operation = *operation;
  result.address32 = prefixes.address32;
  result.segment = prefixes.segment;
  if (opcode & 1) result.size = prefixes.wide ? 8 : prefixes.word ? 2 : 4;
  return result;
}

} // namespace rdb::engine
