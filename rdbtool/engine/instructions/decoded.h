// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An instruction with all its operands as Zydis sees them: for those who need more than Instruction tells.
#pragma once

#include "rdbtool/engine/instructions/decode.h"

#include <Zydis/Zydis.h>

namespace rdb::engine {

struct Decoded {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

// False if Zydis does not know the instruction.
inline bool decode_operands(const Instruction& instruction, Decoded& out) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, instruction.bytes, instruction.length,
                                             &out.instruction, out.operands));
}

} // namespace rdb::engine
