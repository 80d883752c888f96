// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/operand.h"

#include "rdbtool/base/error.h"

#include <Zydis/Zydis.h>

namespace rdb::engine {
namespace {

struct Decoded {
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

bool decode_fully(const Instruction& instruction, Decoded& out) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, instruction.bytes, instruction.length,
                                             &out.instruction, out.operands));
}

uint64_t register_value(ZydisRegister reg, const Registers& regs, uint64_t next_pc) {
  if (reg == ZYDIS_REGISTER_NONE) return 0;
  if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP) return next_pc;
  ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15) return 0;
  return regs.gpr[whole - ZYDIS_REGISTER_RAX];
}

uint64_t address_of(const Decoded& decoded, const ZydisDecodedOperand& operand, uint64_t pc,
                    const Registers& regs) {
  uint64_t next_pc = pc + decoded.instruction.length;
  uint64_t address = register_value(operand.mem.base, regs, next_pc) +
                     register_value(operand.mem.index, regs, next_pc) * operand.mem.scale;
  if (operand.mem.disp.has_displacement) address += static_cast<uint64_t>(operand.mem.disp.value);
  // Implicit stack writes are below rsp; Zydis gives the address before the push.
  if (decoded.instruction.address_width == 32) address = static_cast<uint32_t>(address);
  if (operand.mem.segment == ZYDIS_REGISTER_FS) address += regs.fs_base;
  if (operand.mem.segment == ZYDIS_REGISTER_GS) address += regs.gs_base;
  return address;
}

bool is_push(const ZydisDecodedInstruction& instruction) {
  return instruction.meta.category == ZYDIS_CATEGORY_PUSH ||
         instruction.meta.category == ZYDIS_CATEGORY_CALL || instruction.mnemonic == ZYDIS_MNEMONIC_ENTER;
}

} // namespace

std::vector<MemoryAccess> memory_accesses(const Instruction& instruction, const Registers& regs) {
  std::vector<MemoryAccess> result;
  Decoded decoded;
  if (!decode_fully(instruction, decoded)) return result;
  for (int i = 0; i < decoded.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decoded.operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type != ZYDIS_MEMOP_TYPE_MEM) continue;
    MemoryAccess access;
    access.address = address_of(decoded, operand, instruction.pc, regs);
    access.size = operand.size / 8u;
    access.read = operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ;
    access.write = operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    bool hidden_stack =
        operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && operand.mem.base == ZYDIS_REGISTER_RSP;
    if (hidden_stack && is_push(decoded.instruction)) access.address -= access.size;
    bool repeated = decoded.instruction.attributes &
                    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
    if (repeated) {
      uint64_t count = regs.gpr[RCX];
      if (count == 0) continue;
      uint64_t total = std::min<uint64_t>(count * access.size, UINT32_MAX);
      if (regs.rflags & 0x400) access.address -= total - access.size;
      access.size = static_cast<uint32_t>(total);
    }
    result.push_back(access);
  }
  return result;
}

uint64_t operand_address(const Instruction& instruction, const Registers& regs) {
  Decoded decoded;
  RDB_CHECK(decode_fully(instruction, decoded));
  for (int i = 0; i < decoded.instruction.operand_count; ++i)
    if (decoded.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
      return address_of(decoded, decoded.operands[i], instruction.pc, regs);
  bug("'{}' has no memory operand", disassemble(instruction));
}

} // namespace rdb::engine
