// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions that touch memory elsewhere than their memory operand says, or less of it.
#pragma once

#include <Zydis/Zydis.h>
#include <cstdint>

namespace rdb::engine {

// bts and its like, with the bit's number in a register: any number of bits before or behind the operand.
inline bool finds_by_bit_number(const ZydisDecodedInstruction& instruction,
                                const ZydisDecodedOperand* operands) {
  switch (instruction.mnemonic) {
  case ZYDIS_MNEMONIC_BT:
  case ZYDIS_MNEMONIC_BTS:
  case ZYDIS_MNEMONIC_BTR:
  case ZYDIS_MNEMONIC_BTC:
    return operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
  default:
    return false;
  }
}

// How far from the operand, for a bit's number of `width` bits.
inline int64_t distance_of_bit(uint64_t number, unsigned width) {
  int64_t value = static_cast<int64_t>(number << (64 - width)) >> (64 - width);
  return (value >> (width == 64 ? 6 : width == 32 ? 5 : 4)) * (width / 8);
}

// pop computes the address of its destination with the rsp that it leaves behind.
inline bool pops_by_rsp(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand* operands) {
  return instruction.mnemonic == ZYDIS_MNEMONIC_POP && operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
         operands[0].mem.base == ZYDIS_REGISTER_RSP;
}

// Which parts of the operand it touches, if any, a mask says.
inline bool is_masked(const ZydisDecodedInstruction& instruction) {
  switch (instruction.mnemonic) {
  case ZYDIS_MNEMONIC_VMASKMOVPS:
  case ZYDIS_MNEMONIC_VMASKMOVPD:
  case ZYDIS_MNEMONIC_VPMASKMOVD:
  case ZYDIS_MNEMONIC_VPMASKMOVQ:
    return true;
  default:
    return instruction.avx.mask.mode == ZYDIS_MASK_MODE_MERGING ||
           instruction.avx.mask.mode == ZYDIS_MASK_MODE_CONTROL;
  }
}

} // namespace rdb::engine
