// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/load_log.h"

#include "rdbtool/base/error.h"
#include "rdbtool/engine/instructions/decoded.h"
#include "rdbtool/engine/instructions/odd_operand.h"
#include "rdbtool/engine/instructions/string_instruction.h"
#include "rdbtool/engine/state.h"
#include "rdbtool/engine/translator.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace rdb::engine {
namespace {

void code(Emitter& emit, std::initializer_list<uint8_t> bytes) {
  for (uint8_t b : bytes)
    emit.byte(b);
}

// Has a memory operand that Zydis says is read, and may read less or nothing.
bool may_read_less(const Decoded& decoded) {
  switch (decoded.instruction.meta.category) {
  case ZYDIS_CATEGORY_NOP:
  case ZYDIS_CATEGORY_WIDENOP:
  case ZYDIS_CATEGORY_PREFETCH:
  case ZYDIS_CATEGORY_PREFETCHWT1:
  case ZYDIS_CATEGORY_CLDEMOTE:
  case ZYDIS_CATEGORY_CLFLUSHOPT:
  case ZYDIS_CATEGORY_CLWB:
  case ZYDIS_CATEGORY_XSAVE:
  case ZYDIS_CATEGORY_XSAVEOPT:
    return true;
  default:
    break;
  }
  switch (decoded.instruction.mnemonic) {
  case ZYDIS_MNEMONIC_CLFLUSH:
  case ZYDIS_MNEMONIC_FXSAVE:
  case ZYDIS_MNEMONIC_FXSAVE64:
  case ZYDIS_MNEMONIC_FXRSTOR:
  case ZYDIS_MNEMONIC_FXRSTOR64:
    return true;
  default:
    return is_masked(decoded.instruction);
  }
}

bool is_gathered(const Decoded& decoded) {
  for (int i = 0; i < decoded.instruction.operand_count; ++i)
    if (decoded.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
        decoded.operands[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB)
      return true;
  return false;
}

// How many elements cmps or scas looks at, which depends on what they find.
uint64_t elements_compared(const StringInstruction& string, const Instruction& instruction,
                           const StringOperands& operands, const Registers& regs, GuestMemory& memory) {
  constexpr uint8_t kRepeatWhileUnequal = 0xF2;
  const uint8_t* end = instruction.bytes + instruction.length;
  const bool until_equal = std::find(instruction.bytes, end, kRepeatWhileUnequal) != end;
  auto element = [&](uint64_t lowest, uint64_t index, uint64_t& value) {
    const uint64_t distance = index * string.size;
    const uint64_t at =
        operands.backwards ? lowest + operands.size - string.size - distance : lowest + distance;
    value = 0;
    return memory.read(GuestAddr(at), &value, string.size) == string.size;
  };
  const uint64_t mask = string.size == 8 ? UINT64_MAX : (1ull << string.size * 8) - 1;
  const uint64_t count = operands.size / string.size;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t left = regs.gpr[RAX] & mask, right;
    if (!element(operands.destination, i, right)) return i;
    if (string.has_source() && !element(operands.source, i, left)) return i;
    if ((left == right) == until_equal) return i + 1;
  }
  return count;
}

// The first `part` bytes of what a string instruction touches.
MemoryAccess first_of(uint64_t lowest, const StringOperands& operands, uint64_t part) {
  const uint64_t size = std::min(part, operands.size);
  return {operands.backwards ? lowest + operands.size - size : lowest, static_cast<uint32_t>(size), true,
          false};
}

std::vector<MemoryAccess> loads_of_string(const StringInstruction& string, const Instruction& instruction,
                                          const Registers& regs, GuestMemory& memory) {
  const StringOperands operands = operands_of(string, regs);
  if (operands.size == 0 || (!string.has_source() && string.writes())) return {};
  uint64_t part = operands.size;
  if (!string.runs_to_the_end()) {
    part = elements_compared(string, instruction, operands, regs, memory) * string.size;
  } else if (string.has_destination()) {
    // It may read what it has just written itself.
    const uint64_t ahead =
        operands.backwards ? operands.source - operands.destination : operands.destination - operands.source;
    if (ahead != 0) part = std::min(part, ahead);
  }
  std::vector<MemoryAccess> loads;
  if (string.has_source()) loads.push_back(first_of(operands.source, operands, part));
  if (!string.runs_to_the_end()) loads.push_back(first_of(operands.destination, operands, part));
  return loads;
}

} // namespace

LoadForm load_form(const Instruction& instruction) {
  LoadForm form;
  if (!instruction.memory && instruction.kind == Kind::plain && instruction.length == 0) return form;
  AccessPlan plan = access_plan(instruction);
  if (!plan.reads) return form;
  Decoded decoded;
  if (!decode_operands(instruction, decoded)) return form;
  if (is_gathered(decoded)) {
    form.by_host = true;
    return form;
  }
  if (may_read_less(decoded)) return form;
  for (int i = 0; i < plan.places && !plan.odd; ++i)
    if (plan.place[i].read && plan.place[i].size != 0) form.place[form.places++] = plan.place[i];
  form.by_host = plan.odd;
  return form;
}

void emit_load_log(Emitter& emit, State& state, const Instruction& instruction,
                   const AccessPlan::Place& place, const std::function<void(uint8_t spill)>& map) {
  using PlaceKind = AccessPlan::Place::Kind;
  emit.store(&state.spill_rcx, RCX);
  map(kSpillRcx);
  if (place.kind == PlaceKind::constant)
    emit.mov_imm64(RCX, static_cast<uint64_t>(place.offset));
  else if (place.kind == PlaceKind::stack)
    emit.lea_rcx(place.base, static_cast<int32_t>(place.offset));
  else
    RDB_CHECK(emit.address_of_operand(RCX, instruction));
  emit.store(&state.spill_rax, RAX);
  map(kSpillRcx | kSpillRax);
  if (place.kind == PlaceKind::tls) {
    code(emit, {0xF3, 0x48, 0x0F, 0xAE, 0xC0}); // rdfsbase rax
    emit.lea_sum(RCX, RAX);
  }
  emit.load(RAX, &state.log_cursor);
  code(emit, {0x48, 0x89, 0x08});                          // mov [rax], rcx
  code(emit, {0xC7, 0x40, offsetof(StoreLogEntry, size)}); // mov dword [rax + 8], ...
  emit.u32(size_and_kind(place.size, StoreLogEntry::Kind::load));
  emit.lea_offset(RAX, sizeof(StoreLogEntry));
  emit.store(&state.log_cursor, RAX);
  emit.load(RAX, &state.spill_rax);
  map(kSpillRcx);
  emit.load(RCX, &state.spill_rcx);
  map(kSpillNone);
}

std::vector<MemoryAccess> loads_of(const Instruction& instruction, Engine& engine, GuestMemory& memory) {
  if (std::optional<StringInstruction> string = repeated_string(instruction))
    return loads_of_string(*string, instruction, engine.registers(), memory);
  Decoded decoded;
  if (!decode_operands(instruction, decoded) || (may_read_less(decoded) && !is_gathered(decoded))) return {};
  std::vector<MemoryAccess> accesses = memory_accesses(instruction, engine);
  std::erase_if(accesses, [](const MemoryAccess& access) { return !access.read || access.size == 0; });
  return accesses;
}

void Translator::log_load_of(uint64_t address, size_t size) {
  constexpr size_t kMost = 1u << 15;
  while (size != 0) {
    StoreLogEntry* entry = store_log_end();
    if (log_end_ - entry < 1) limit("an undo log of more than its size");
    const size_t part = std::min(size, kMost);
    *entry = {address, static_cast<uint16_t>(part), StoreLogEntry::Kind::load, 0, 0};
    state_.log_cursor = reinterpret_cast<uint64_t>(entry + 1);
    address += part;
    size -= part;
  }
}

} // namespace rdb::engine
