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
                           std::span<const MemoryAccess> operands, const Registers& regs,
                           GuestMemory& memory) {
  constexpr uint8_t kRepeatWhileUnequal = 0xF2;
  const uint64_t count = string.address32 ? static_cast<uint32_t>(regs.gpr[RCX]) : regs.gpr[RCX];
  const bool until_equal = std::find(instruction.bytes, instruction.bytes + instruction.length,
                                     kRepeatWhileUnequal) != instruction.bytes + instruction.length;
  const bool backwards = regs.rflags & 0x400;
  auto element = [&](const MemoryAccess& operand, uint64_t index, uint64_t& value) {
    uint64_t distance = index * string.size;
    uint64_t at =
        backwards ? operand.address + operand.size - string.size - distance : operand.address + distance;
    value = 0;
    return memory.read(GuestAddr(at), &value, string.size) == string.size;
  };
  const uint64_t mask = string.size == 8 ? UINT64_MAX : (1ull << string.size * 8) - 1;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t left = regs.gpr[RAX] & mask, right;
    if (!element(operands.back(), i, right)) return i;
    if (operands.size() == 2 && !element(operands.front(), i, left)) return i;
    if ((left == right) == until_equal) return i + 1;
  }
  return count;
}

void cut_to(MemoryAccess& access, uint64_t size, bool backwards) {
  if (size >= access.size) return;
  if (backwards) access.address += access.size - size;
  access.size = static_cast<uint32_t>(size);
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
  Decoded decoded;
  if (!decode_operands(instruction, decoded) || (may_read_less(decoded) && !is_gathered(decoded))) return {};
  std::vector<MemoryAccess> accesses = memory_accesses(instruction, engine);
  if (std::optional<StringInstruction> string = repeated_string(instruction); string && !accesses.empty()) {
    const Registers& regs = engine.registers();
    const bool backwards = regs.rflags & 0x400;
    // In the order of addresses that the two have, the source comes first.
    if (!string->runs_to_the_end()) {
      if (accesses.size() == 2 && !accesses[0].read) std::swap(accesses[0], accesses[1]);
      const uint64_t compared = elements_compared(*string, instruction, accesses, regs, memory);
      for (MemoryAccess& access : accesses)
        cut_to(access, compared * string->size, backwards);
    } else if (string->operation == StringInstruction::Operation::movs) {
      // It may read what it has just written itself.
      MemoryAccess& source = accesses[0].read ? accesses[0] : accesses[1];
      const MemoryAccess& target = accesses[0].read ? accesses[1] : accesses[0];
      const uint64_t ahead = backwards ? source.address - target.address : target.address - source.address;
      if (ahead != 0) cut_to(source, ahead, backwards);
    }
  }
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
