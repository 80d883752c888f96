// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/instructions/operand.h"

#include "rdbtool/base/error.h"
#include "rdbtool/engine/instructions/decoded.h"
#include "rdbtool/engine/instructions/odd_operand.h"
#include "rdbtool/engine/instructions/string_instruction.h"
#include "rdbtool/engine/watch_filter.h"

namespace rdb::engine {
namespace {

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

std::vector<MemoryAccess> accesses_with(const Instruction& instruction, const Registers& regs, Engine* engine,
                                        Elements elements) {
  std::vector<MemoryAccess> result;
  Decoded decoded;
  if (!decode_operands(instruction, decoded)) return result;
  std::optional<StringInstruction> string = repeated_string(instruction);
  for (int i = 0; i < decoded.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decoded.operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    bool is_gather = operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB;
    if (!is_gather && operand.mem.type != ZYDIS_MEMOP_TYPE_MEM) continue;
    MemoryAccess access;
    access.address = address_of(decoded, operand, instruction.pc, regs);
    access.size = operand.size / 8u;
    access.read = operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ;
    access.write = operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    bool hidden_stack =
        operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && operand.mem.base == ZYDIS_REGISTER_RSP;
    if (hidden_stack && is_push(decoded.instruction)) access.address -= access.size;
    if (is_gather) {
      RDB_CHECK(engine != nullptr);
      Gather places = gather(decoded.instruction, decoded.operands, *engine, elements);
      uint64_t base = access.address;
      access.size = places.element_size;
      for (int64_t distance : places.distances) {
        access.address = base + static_cast<uint64_t>(distance);
        result.push_back(access);
      }
      continue;
    }
    if (finds_by_bit_number(decoded.instruction, decoded.operands))
      access.address += static_cast<uint64_t>(
          distance_of_bit(register_value(decoded.operands[1].reg.value, regs, 0), operand.size));
    if (i == 0 && pops_by_rsp(decoded.instruction, decoded.operands)) access.address += access.size;
    if (string) {
      uint64_t count = string->address32 ? static_cast<uint32_t>(regs.gpr[RCX]) : regs.gpr[RCX];
      if (count == 0) continue;
      uint64_t total = std::min<uint64_t>(count * access.size, UINT32_MAX);
      if (regs.rflags & 0x400) access.address -= total - access.size;
      access.size = static_cast<uint32_t>(total);
    }
    result.push_back(access);
  }
  return result;
}

bool is_gpr(ZydisRegister reg) {
  return reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15;
}

// Adds one memory operand to the plan. False: too odd.
bool plan_place(const Decoded& decoded, const ZydisDecodedOperand& operand, const Instruction& instruction,
                AccessPlan& plan) {
  using PlaceKind = AccessPlan::Place::Kind;
  const ZydisDecodedInstruction& zydis = decoded.instruction;
  AccessPlan::Place place;
  place.size = operand.size / 8u;
  place.read = operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ;
  place.write = operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
  if (place.size > WatchFilter::kReach || plan.places == 3 || zydis.address_width != 64) return false;
  if (operand.mem.type != ZYDIS_MEMOP_TYPE_MEM || operand.mem.segment == ZYDIS_REGISTER_GS) return false;
  if (finds_by_bit_number(zydis, decoded.operands)) return false;
  place.offset = operand.mem.disp.has_displacement ? operand.mem.disp.value : 0;
  place.has_base = operand.mem.base >= ZYDIS_REGISTER_RAX && operand.mem.base <= ZYDIS_REGISTER_R15;
  if (place.has_base) place.base = static_cast<Gpr>(operand.mem.base - ZYDIS_REGISTER_RAX);
  place.indexed = operand.mem.index != ZYDIS_REGISTER_NONE;
  if (place.indexed) {
    if (!is_gpr(operand.mem.index)) return false; // several places
    place.index = static_cast<Gpr>(operand.mem.index - ZYDIS_REGISTER_RAX);
    place.scale = operand.mem.scale;
  }
  if (operand.visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT) {
    // The stack, or what leave finds.
    if (!place.has_base || place.indexed || (place.base != RSP && place.base != RBP)) return false;
    if (is_push(zydis)) place.offset -= place.size;
  } else if (zydis.meta.category == ZYDIS_CATEGORY_POP) {
    return false; // pop computes its destination with the new rsp
  } else if (operand.mem.segment == ZYDIS_REGISTER_FS) {
    place.kind = PlaceKind::tls;
    if (place.indexed || operand.mem.base == ZYDIS_REGISTER_RIP || (place.has_base && place.base == RCX))
      return false;
  } else if (operand.mem.base == ZYDIS_REGISTER_RIP) {
    place.kind = PlaceKind::constant;
    place.offset = static_cast<int64_t>(instruction.rip_target());
  } else {
    place.kind = place.has_base || place.indexed ? PlaceKind::operand : PlaceKind::constant;
  }
  plan.place[plan.places++] = place;
  return true;
}

// Instructions that move rsp by an amount that is known.
void plan_rsp(const Decoded& decoded, AccessPlan& plan) {
  const ZydisDecodedInstruction& zydis = decoded.instruction;
  const ZydisDecodedOperand* operands = decoded.operands;
  plan.rsp_moves = true;
  if (zydis.mnemonic == ZYDIS_MNEMONIC_PUSH || zydis.mnemonic == ZYDIS_MNEMONIC_CALL)
    plan.rsp_change = -8;
  else if (zydis.mnemonic == ZYDIS_MNEMONIC_POP && zydis.operand_width == 64 &&
           operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[0].reg.value != ZYDIS_REGISTER_RSP)
    plan.rsp_change = 8;
  else if (zydis.mnemonic == ZYDIS_MNEMONIC_RET)
    plan.rsp_change = 8 + (zydis.raw.imm[0].size ? static_cast<int64_t>(zydis.raw.imm[0].value.u) : 0);
  else if ((zydis.mnemonic == ZYDIS_MNEMONIC_SUB || zydis.mnemonic == ZYDIS_MNEMONIC_ADD) &&
           operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && zydis.operand_width == 64)
    plan.rsp_change =
        zydis.mnemonic == ZYDIS_MNEMONIC_ADD ? operands[1].imm.value.s : -operands[1].imm.value.s;
  else
    plan.rsp_moves = false;
  if (zydis.mnemonic == ZYDIS_MNEMONIC_PUSH && zydis.operand_width != 64) plan.rsp_moves = false;
}

// Instructions that add a constant to a register, as loops do.
void plan_move(const Decoded& decoded, AccessPlan& plan) {
  const ZydisDecodedInstruction& zydis = decoded.instruction;
  const ZydisDecodedOperand* operands = decoded.operands;
  if (zydis.operand_width != 64 || operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
      !is_gpr(operands[0].reg.value))
    return;
  switch (zydis.mnemonic) {
  case ZYDIS_MNEMONIC_INC:
    plan.change = 1;
    break;
  case ZYDIS_MNEMONIC_DEC:
    plan.change = -1;
    break;
  case ZYDIS_MNEMONIC_ADD:
  case ZYDIS_MNEMONIC_SUB:
    if (operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return;
    plan.change = zydis.mnemonic == ZYDIS_MNEMONIC_ADD ? operands[1].imm.value.s : -operands[1].imm.value.s;
    break;
  case ZYDIS_MNEMONIC_LEA:
    if (operands[1].mem.base != operands[0].reg.value || operands[1].mem.index != ZYDIS_REGISTER_NONE ||
        zydis.address_width != 64)
      return;
    plan.change = operands[1].mem.disp.has_displacement ? operands[1].mem.disp.value : 0;
    break;
  default:
    return;
  }
  plan.moved = operands[0].reg.value - ZYDIS_REGISTER_RAX;
}

// Of a plan that is complete but for this: see write_can_trap().
bool can_trap(const Instruction& instruction, const Decoded& decoded, const AccessPlan& plan) {
  if (instruction.kind == Kind::call) return true;
  if (instruction.kind != Kind::plain) return false;
  if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_PUSH) return decoded.instruction.operand_width == 64;
  if (plan.rsp_moves || !instruction.memory || is_masked(decoded.instruction)) return false;
  auto keeps = [&](ZydisRegister reg) {
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return !is_gpr(whole) || (plan.written >> (whole - ZYDIS_REGISTER_RAX) & 1) == 0;
  };
  int writes = 0;
  for (int i = 0; i < decoded.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decoded.operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
    if (operand.visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT) return false;
    if (operand.actions & ZYDIS_OPERAND_ACTION_CONDWRITE) return false;
    if (!(operand.actions & ZYDIS_OPERAND_ACTION_WRITE)) continue;
    if (!keeps(operand.mem.base) || !keeps(operand.mem.index)) return false;
    ++writes;
  }
  return writes == 1;
}

} // namespace

std::vector<MemoryAccess> memory_accesses(const Instruction& instruction, Engine& engine, Elements elements) {
  return accesses_with(instruction, engine.registers(), &engine, elements);
}

AccessPlan access_plan(const Instruction& instruction) {
  AccessPlan plan;
  Decoded decoded;
  plan.odd = plan.reads = plan.writes = true;
  plan.written = ~0u;
  if (!decode_operands(instruction, decoded)) return plan;
  plan.reads = plan.writes = false;
  for (int i = 0; i < decoded.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decoded.operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
    plan.reads |= (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    plan.writes |= (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  }
  if (repeated_string(instruction) || decoded.instruction.mnemonic == ZYDIS_MNEMONIC_ENTER) return plan;
  plan.written = decoded.instruction.mnemonic == ZYDIS_MNEMONIC_WRFSBASE ? AccessPlan::kFsBase : 0;
  for (int i = 0; i < decoded.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decoded.operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
      ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value);
      if (is_gpr(whole)) plan.written |= 1u << (whole - ZYDIS_REGISTER_RAX);
    }
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
    if (!(operand.actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_MASK_WRITE))) continue;
    if (!plan_place(decoded, operand, instruction, plan)) return plan;
  }
  if (plan.written & 1u << RSP)
    plan_rsp(decoded, plan);
  else
    plan_move(decoded, plan);
  plan.odd = false;
  plan.can_trap = can_trap(instruction, decoded, plan);
  return plan;
}

bool write_can_trap(const Instruction& instruction) {
  return access_plan(instruction).can_trap;
}

std::vector<MemoryAccess> accesses_done(const Instruction& instruction, Registers after) {
  Decoded decoded;
  if (decode_operands(instruction, decoded) && is_push(decoded.instruction)) after.gpr[RSP] += 8;
  return accesses_with(instruction, after, nullptr, Elements::chosen);
}

uint64_t operand_address(const Instruction& instruction, const Registers& regs) {
  Decoded decoded;
  RDB_CHECK(decode_operands(instruction, decoded));
  for (int i = 0; i < decoded.instruction.operand_count; ++i)
    if (decoded.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
      return address_of(decoded, decoded.operands[i], instruction.pc, regs);
  bug("'{}' has no memory operand", disassemble(instruction));
}

} // namespace rdb::engine
