// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/translate/scratch.h"

#include "rdbtool/base/error.h"

#include <Zydis/Zydis.h>

namespace rdb::engine {

Gpr free_register(const Instruction& instruction) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecodedInstruction zydis;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  RDB_CHECK(ZYAN_SUCCESS(
      ZydisDecoderDecodeFull(&decoder, instruction.bytes, instruction.length, &zydis, operands)));
  bool used[16] = {};
  auto use = [&](ZydisRegister reg) {
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15) used[whole - ZYDIS_REGISTER_RAX] = true;
  };
  for (int i = 0; i < zydis.operand_count; ++i) {
    if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER) use(operands[i].reg.value);
    if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
      use(operands[i].mem.base);
      use(operands[i].mem.index);
    }
  }
  for (Gpr candidate : {RBX, RSI, RDI, RDX, RCX, RAX})
    if (!used[candidate]) return candidate;
  bug("no free register for '{}'", disassemble(instruction));
}

void emit_through_register(Emitter& emit, const Instruction& instruction, Gpr base) {
  // ModRM becomes mod 0, rm = base: one of the low registers, so that no prefix bit is needed.
  uint8_t head[15];
  copy_head(instruction, head);
  emit.bytes(head, instruction.modrm_offset);
  emit.byte(static_cast<uint8_t>((instruction.bytes[instruction.modrm_offset] & 0x38) | base));
  size_t tail = instruction.disp_offset + 4u;
  emit.bytes(instruction.bytes + tail, instruction.length - tail);
}

} // namespace rdb::engine
