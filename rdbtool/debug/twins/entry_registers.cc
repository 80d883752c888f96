// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/entry_registers.h"

#include "rdbtool/debug/twins/x86_decoder.h"

#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace rdb::debug {
namespace {

constexpr size_t kMostInstructions = 4096; // that are looked at; registers read later count as not read

constexpr std::array<ZydisRegister, 6> kInteger = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDX,
                                                   ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9};

struct Registers {
  uint8_t integer = 0;
  uint8_t vector = 0;
  bool operator==(const Registers&) const = default;
  auto operator<=>(const Registers&) const = default;
};

void add(Registers& to, ZydisRegister reg) {
  ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  for (size_t i = 0; i < kInteger.size(); ++i)
    if (kInteger[i] == whole) to.integer |= static_cast<uint8_t>(1u << i);
  if (ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_XMM || ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_YMM ||
      ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_ZMM)
    if (int id{ZydisRegisterGetId(reg)}; id >= 0 && id < 8) to.vector |= static_cast<uint8_t>(1u << id);
}

// `xor eax, eax` and the like read nothing.
bool is_zeroing(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand* operands) {
  switch (instruction.mnemonic) {
  case ZYDIS_MNEMONIC_XOR:
  case ZYDIS_MNEMONIC_SUB:
  case ZYDIS_MNEMONIC_SBB:
  case ZYDIS_MNEMONIC_PXOR:
  case ZYDIS_MNEMONIC_XORPS:
  case ZYDIS_MNEMONIC_XORPD:
    break;
  default:
    return false;
  }
  return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
         operands[0].reg.value == operands[1].reg.value;
}

// What an instruction reads, and what it overwrites wholly. Whatever only may be read counts as not read, and
// whatever may be written as written: the answer errs towards "not read".
void look_at(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand* operands,
             Registers& reads, Registers& writes) {
  bool zeroing = is_zeroing(instruction, operands);
  for (int i = 0; i < instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      if (operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN && instruction.mnemonic == ZYDIS_MNEMONIC_NOP) continue;
      if (instruction.mnemonic == ZYDIS_MNEMONIC_NOP) continue;
      add(reads, operand.mem.base);
      add(reads, operand.mem.index);
    } else if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      bool is_written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
      bool is_read = (operand.actions & ZYDIS_OPERAND_ACTION_READ) != 0 && !zeroing;
      if (is_read) add(reads, operand.reg.value);
      if (is_written) add(writes, operand.reg.value);
    }
  }
}

Registers without(Registers a, const Registers& b) {
  a.integer &= static_cast<uint8_t>(~b.integer);
  a.vector &= static_cast<uint8_t>(~b.vector);
  return a;
}

} // namespace

// A function that calls itself is asked about while it is looked at: then it has read nothing yet.
ArgumentRegisters EntryRegisters::read_by(uint64_t function) {
  auto [known, is_new] = known_.try_emplace(function);
  if (!is_new) return known->second;
  ArgumentRegisters found = find(function);
  known_[function] = found;
  return found;
}

// Follows every path from the first instruction, with the registers that still hold what the caller has put
// there, until none does, or a call, or the path leaves the function.
ArgumentRegisters EntryRegisters::find(uint64_t function) {
  ArgumentRegisters found;
  std::vector<std::pair<uint64_t, Registers>> paths{{function, {0x3F, 0xFF}}};
  std::set<std::pair<uint64_t, Registers>> seen;
  size_t looked_at = 0;
  while (!paths.empty()) {
    auto [at, fresh] = paths.back();
    paths.pop_back();
    while (fresh != Registers{} && seen.emplace(at, fresh).second && ++looked_at < kMostInstructions) {
      constexpr uint64_t kLongest = 15;
      std::string_view bytes = program_.file().elf().loaded_at(at, kLongest);
      ZydisDecodedInstruction instruction;
      ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
      if (!ZYAN_SUCCESS(
              ZydisDecoderDecodeFull(&x86_decoder(), bytes.data(), bytes.size(), &instruction, operands)))
        break;
      Registers reads, writes;
      look_at(instruction, operands, reads, writes);
      found.integer |= reads.integer & fresh.integer;
      found.vector |= reads.vector & fresh.vector;
      fresh = without(without(fresh, reads), writes);
      const uint64_t next = at + instruction.length;
      const bool has_target = instruction.raw.imm[0].is_relative != 0;
      const uint64_t target = next + static_cast<uint64_t>(instruction.raw.imm[0].value.s);
      if (instruction.meta.category == ZYDIS_CATEGORY_COND_BR && has_target) {
        paths.emplace_back(target, fresh);
      } else if (instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR && has_target) {
        at = target;
        continue;
      } else if (instruction.meta.category == ZYDIS_CATEGORY_CALL) {
        // What is passed on is read by the one that is called.
        if (!has_target) break;
        const ArgumentRegisters passed = read_by(target);
        found.integer |= passed.integer & fresh.integer;
        found.vector |= passed.vector & fresh.vector;
        break;
      } else if (instruction.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
                 instruction.meta.category == ZYDIS_CATEGORY_RET ||
                 instruction.meta.category == ZYDIS_CATEGORY_INTERRUPT) {
        break;
      }
      at = next;
    }
  }
  return found;
}

} // namespace rdb::debug
