// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/plain_code.h"

#include <Zydis/Zydis.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <link.h>
#include <optional>
#include <set>
#include <span>
#include <unordered_set>
#include <vector>

namespace rdb::debug {
namespace {

constexpr size_t kMostInstructions = 4096;

bool is_plain_kind(const ZydisDecodedInstruction& instruction) {
  switch (instruction.mnemonic) {
  case ZYDIS_MNEMONIC_LEA:
  case ZYDIS_MNEMONIC_LEAVE:
  case ZYDIS_MNEMONIC_PAUSE:
    return true;
  case ZYDIS_MNEMONIC_POPF:
  case ZYDIS_MNEMONIC_POPFD:
  case ZYDIS_MNEMONIC_POPFQ:
  case ZYDIS_MNEMONIC_XBEGIN:
    return false;
  default:
    break;
  }
  switch (instruction.meta.category) {
  case ZYDIS_CATEGORY_BINARY:
  case ZYDIS_CATEGORY_BITBYTE:
  case ZYDIS_CATEGORY_BMI1:
  case ZYDIS_CATEGORY_BMI2:
  case ZYDIS_CATEGORY_CALL:
  case ZYDIS_CATEGORY_CET: // endbr64: the others have operands that are not let through
  case ZYDIS_CATEGORY_CMOV:
  case ZYDIS_CATEGORY_COND_BR:
  case ZYDIS_CATEGORY_CONVERT:
  case ZYDIS_CATEGORY_DATAXFER:
  case ZYDIS_CATEGORY_LOGICAL:
  case ZYDIS_CATEGORY_LZCNT:
  case ZYDIS_CATEGORY_NOP:
  case ZYDIS_CATEGORY_POP:
  case ZYDIS_CATEGORY_PUSH:
  case ZYDIS_CATEGORY_RET:
  case ZYDIS_CATEGORY_ROTATE:
  case ZYDIS_CATEGORY_SEMAPHORE:
  case ZYDIS_CATEGORY_SETCC:
  case ZYDIS_CATEGORY_SHIFT:
  case ZYDIS_CATEGORY_STRINGOP:
  case ZYDIS_CATEGORY_UNCOND_BR:
  case ZYDIS_CATEGORY_WIDENOP:
    return true;
  default:
    return false;
  }
}

bool is_plain_register(ZydisRegister reg) {
  switch (ZydisRegisterGetClass(reg)) {
  case ZYDIS_REGCLASS_GPR8:
  case ZYDIS_REGCLASS_GPR16:
  case ZYDIS_REGCLASS_GPR32:
  case ZYDIS_REGCLASS_GPR64:
  case ZYDIS_REGCLASS_FLAGS:
  case ZYDIS_REGCLASS_IP:
    return true;
  default:
    return false;
  }
}

// Instructions that begin a function of variable arguments: they store what may have been passed.
bool stores_vector(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand* operands) {
  switch (instruction.mnemonic) {
  case ZYDIS_MNEMONIC_MOVAPS:
  case ZYDIS_MNEMONIC_MOVUPS:
  case ZYDIS_MNEMONIC_VMOVAPS:
  case ZYDIS_MNEMONIC_VMOVUPS:
    return instruction.operand_count == 2 && operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
           operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operands[1].actions == ZYDIS_OPERAND_ACTION_READ;
  default:
    return false;
  }
}

bool is_plain(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand* operands) {
  bool stores = stores_vector(instruction, operands);
  if (!stores && !is_plain_kind(instruction)) return false;
  for (size_t i = 0; i < instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_POINTER) return false;
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
        (operand.mem.segment == ZYDIS_REGISTER_FS || operand.mem.segment == ZYDIS_REGISTER_GS))
      return false;
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && !(stores && i == 1) &&
        !is_plain_register(operand.reg.value))
      return false;
  }
  return true;
}

class Walk {
public:
  Walk(std::span<const uint8_t> code, const PlainCodeRules& rules)
      : code_(code), rules_(rules), needs_libc_(reinterpret_cast<uint64_t>(rules.needs_libc)) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  }

  bool all_plain(uint64_t function) {
    waiting_.push_back(function);
    while (!waiting_.empty()) {
      uint64_t pc = waiting_.back();
      waiting_.pop_back();
      targets_.insert(pc);
      if (!straight_is_plain(pc)) return false;
    }
    // Nothing may come from elsewhere between where a register is loaded and where it is relied on.
    return std::none_of(relied_on_.begin(), relied_on_.end(), [&](const Loaded& loaded) {
      auto first = targets_.upper_bound(loaded.from);
      return first != targets_.end() && *first <= loaded.to;
    });
  }

private:
  // The code from one address to another, behind which a register holds what was loaded at the first.
  struct Loaded {
    uint64_t from, to;
  };
  struct Known {
    uint64_t value = 0; // 0: none
    uint64_t loaded_at = 0;
  };
  // What is known of the registers, and of the carry flag. Calls through pointers are compiled as: the word,
  // unless it is less than the end of the program's memory.
  struct KnownState {
    std::array<Known, 16> registers;
    std::optional<bool> carry;
    uint64_t carry_since = 0;
  };

  static int number_of(ZydisRegister reg) {
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? ZydisRegisterGetId(whole) : -1;
  }

  // What an operand of 64 bits holds, as far as it is known.
  Known value_of(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand& operand, uint64_t pc,
                 const KnownState& state) const {
    if (operand.size != 64) return {};
    if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) return {operand.imm.value.u, pc};
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) return {constant(instruction, operand, pc), pc};
    int number = operand.type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(operand.reg.value) : -1;
    return number < 0 ? Known{} : state.registers[static_cast<size_t>(number)];
  }

  // The value of an operand that is a constant word of memory.
  uint64_t constant(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand& operand,
                    uint64_t pc) const {
    ZyanU64 address;
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.base != ZYDIS_REGISTER_RIP ||
        operand.size != 64 || !rules_.constant ||
        !ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, &operand, pc, &address)))
      return 0;
    return rules_.constant(address);
  }

  // Where a call or jump goes; 0 if that is not known.
  uint64_t target_of(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand& operand,
                     uint64_t pc, const KnownState& state) {
    if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
      return operand.imm.is_relative ? pc + instruction.length + static_cast<uint64_t>(operand.imm.value.s)
                                     : 0;
    Known known = value_of(instruction, operand, pc, state);
    if (known.value != 0) relied_on_.push_back({known.loaded_at, pc});
    return known.value;
  }

  // What is known behind an instruction that is no branch.
  void learn(const ZydisDecodedInstruction& instruction, const ZydisDecodedOperand* operands, uint64_t pc,
             KnownState& state) const {
    Known first = value_of(instruction, operands[0], pc, state);
    Known second = instruction.operand_count > 1 ? value_of(instruction, operands[1], pc, state) : Known{};
    Known result;
    std::optional<bool> carry;
    switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
      result = second;
      carry = state.carry;
      break;
    case ZYDIS_MNEMONIC_LEA:
      carry = state.carry;
      break;
    case ZYDIS_MNEMONIC_CMP:
      if (first.value != 0 && second.value != 0) {
        carry = first.value < second.value;
        state.carry_since = std::min(first.loaded_at, second.loaded_at);
      }
      break;
    case ZYDIS_MNEMONIC_CMOVB:
    case ZYDIS_MNEMONIC_CMOVNB:
      if (state.carry) {
        result = *state.carry == (instruction.mnemonic == ZYDIS_MNEMONIC_CMOVB) ? second : first;
        result.loaded_at = std::min(result.loaded_at, state.carry_since);
      }
      break;
    default:
      break;
    }
    state.carry = carry;
    for (size_t i = 0; i < instruction.operand_count; ++i) {
      if (operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
          !(operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
        continue;
      int number = number_of(operands[i].reg.value);
      bool whole = i == 0 && operands[i].size == 64;
      if (number >= 0) state.registers[static_cast<size_t>(number)] = whole ? result : Known{};
    }
  }

  // From here to where it ends or is known already.
  bool straight_is_plain(uint64_t pc) {
    auto begin = reinterpret_cast<uint64_t>(code_.data());
    KnownState state = {};
    while (known_.insert(pc).second) {
      if (known_.size() > kMostInstructions || pc < begin || pc - begin >= code_.size()) return false;
      ZydisDecodedInstruction instruction;
      ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
      if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, code_.data() + (pc - begin),
                                               code_.size() - (pc - begin), &instruction, operands)))
        return false;
      if (instruction.mnemonic == ZYDIS_MNEMONIC_UD2) return true;
      if (!is_plain(instruction, operands)) return false;
      ZydisInstructionCategory category = instruction.meta.category;
      if (category == ZYDIS_CATEGORY_RET) return instruction.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR;
      bool is_call = category == ZYDIS_CATEGORY_CALL, is_jump = category == ZYDIS_CATEGORY_UNCOND_BR;
      if (is_call || is_jump || category == ZYDIS_CATEGORY_COND_BR) {
        uint64_t target = target_of(instruction, operands[0], pc, state);
        if (target == 0) return false;
        if (needs_libc_ != 0 && target == needs_libc_) return true;
        waiting_.push_back(target);
        if (is_jump) return true;
        state.carry = {};
        if (is_call) state = {};
      } else {
        learn(instruction, operands, pc, state);
      }
      pc += instruction.length;
    }
    return true;
  }

  std::span<const uint8_t> code_;
  const PlainCodeRules& rules_;
  uint64_t needs_libc_;
  ZydisDecoder decoder_;
  std::unordered_set<uint64_t> known_; // instructions that were looked at
  std::set<uint64_t> targets_;         // that something jumps to, or calls
  std::vector<uint64_t> waiting_;
  std::vector<Loaded> relied_on_;
};

} // namespace

std::span<const uint8_t> code_around(const void* address) {
  struct CodeSearch {
    uint64_t address;
    std::span<const uint8_t> found;
  } search{reinterpret_cast<uint64_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* argument) {
        auto& wanted = *static_cast<CodeSearch*>(argument);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) & header = info->dlpi_phdr[i];
          uint64_t begin = info->dlpi_addr + header.p_vaddr;
          if (header.p_type != PT_LOAD || !(header.p_flags & PF_X) || wanted.address < begin ||
              wanted.address - begin >= header.p_filesz)
            continue;
          wanted.found = {reinterpret_cast<const uint8_t*>(begin), header.p_filesz};
          return 1;
        }
        return 0;
      },
      &search);
  return search.found;
}

bool is_plain_code(const void* function, const PlainCodeRules& rules) {
  std::span<const uint8_t> code = code_around(function);
  return !code.empty() && Walk(code, rules).all_plain(reinterpret_cast<uint64_t>(function));
}

} // namespace rdb::debug
