// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/instructions/partial_work.h"

#include "rdbtool/engine/cpu.h"
#include "rdbtool/engine/instructions/decoded.h"
#include "rdbtool/engine/instructions/gather.h"
#include "rdbtool/engine/instructions/string_instruction.h"

#include <algorithm>

namespace rdb::engine {
namespace {

// The CPU fills the extended state piece by piece from these; and what uses MMX registers may have made them
// valid.
constexpr ZydisMnemonic kLoadsOfState[] = {ZYDIS_MNEMONIC_FXRSTOR, ZYDIS_MNEMONIC_FXRSTOR64,
                                           ZYDIS_MNEMONIC_XRSTOR,  ZYDIS_MNEMONIC_XRSTOR64,
                                           ZYDIS_MNEMONIC_FRSTOR,  ZYDIS_MNEMONIC_FLDENV};

} // namespace

PartialWork partial_work(const Instruction& instruction, Engine& engine) {
  PartialWork work;
  if (repeated_string(instruction)) {
    work.repeats = true;
    return work;
  }
  Decoded decoded;
  if (!decode_operands(instruction, decoded)) return work;
  const ZydisDecodedInstruction& zydis = decoded.instruction;
  const ZydisDecodedOperand* operands = decoded.operands;
  bool by_element = std::any_of(operands, operands + zydis.operand_count, [](const auto& operand) {
    return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB;
  });
  work.changes_vectors = by_element || instruction.x87 ||
                         std::ranges::find(kLoadsOfState, zydis.mnemonic) != std::end(kLoadsOfState);
  // Elements that are done are no longer in the mask.
  work.written = memory_accesses(instruction, engine, Elements::all);
  std::erase_if(work.written, [](const MemoryAccess& access) { return !access.write; });
  // The extended state's size is not in the operand of those that store it.
  if (instruction.kind == Kind::emulated && instruction.memory)
    work.written = {{operand_address(instruction, engine.registers()),
                     static_cast<uint32_t>(cpu().xsave_size), false, true}};
  // Below the frame pointer that it pushes, enter pushes those of outer frames.
  if (zydis.mnemonic == ZYDIS_MNEMONIC_ENTER) {
    constexpr uint32_t kMostPushed = 32 * 8;
    work.written = {{engine.registers().gpr[RSP] - kMostPushed, kMostPushed, false, true}};
  }
  return work;
}

} // namespace rdb::engine
