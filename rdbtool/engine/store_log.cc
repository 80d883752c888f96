// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// There is no test for the log's end in translated code: whoever runs it sees to it that the log has room for
// as many instructions as it lets the engine run.
#include "rdbtool/engine/store_log.h"

#include "rdbtool/base/error.h"
#include "rdbtool/engine/block.h"
#include "rdbtool/engine/instructions/decoded.h"
#include "rdbtool/engine/instructions/odd_operand.h"
#include "rdbtool/engine/instructions/operand.h"
#include "rdbtool/engine/instructions/string_instruction.h"
#include "rdbtool/engine/load_log.h"
#include "rdbtool/engine/state.h"
#include "rdbtool/engine/translator.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace rdb::engine {
namespace {

constexpr uint8_t kFsPrefix = 0x64;
constexpr uint32_t kLargestStore = 64;

void code(Emitter& emit, std::initializer_list<uint8_t> bytes) {
  for (uint8_t b : bytes)
    emit.byte(b);
}

void emit_address(Emitter& emit, const Instruction& instruction, const StoreForm& form) {
  if (form.kind == StoreForm::Kind::stack) {
    code(emit, {0x48, 0x8D, 0x4C, 0x24, static_cast<uint8_t>(-form.size)}); // lea rcx, [rsp - size]
    return;
  }
  if (!emit.address_of_operand(RCX, instruction)) emit.mov_imm64(RCX, instruction.rip_target());
}

// rcx = the old bytes at [rcx].
void emit_load_old(Emitter& emit, uint32_t size) {
  switch (size) {
  case 8:
    code(emit, {0x48, 0x8B, 0x09}); // mov rcx, [rcx]
    return;
  case 4:
    code(emit, {0x8B, 0x09}); // mov ecx, [rcx]
    return;
  case 2:
    code(emit, {0x0F, 0xB7, 0x09}); // movzx ecx, word [rcx]
    return;
  default:
    code(emit, {0x0F, 0xB6, 0x09}); // movzx ecx, byte [rcx]
  }
}

uint32_t chunk_of(uint32_t left) {
  return left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

} // namespace

StoreForm store_form(const Instruction& instruction) {
  Decoded decoded;
  if (!decode_operands(instruction, decoded)) return {};
  const ZydisDecodedInstruction& zydis = decoded.instruction;
  const ZydisDecodedOperand* operands = decoded.operands;
  StoreForm form;
  for (int i = 0; i < zydis.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
        !(operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
      continue;
    uint32_t size = operand.size / 8u;
    bool second = form.kind != StoreForm::Kind::none;
    bool plain = operand.mem.type == ZYDIS_MEMOP_TYPE_MEM && size > 0 && size <= kLargestStore;
    bool elsewhere = finds_by_bit_number(zydis, operands) || pops_by_rsp(zydis, operands);
    if (second || !plain || elsewhere || is_masked(zydis)) return {StoreForm::Kind::host, 0};
    if (operand.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT && instruction.modrm_offset != 0)
      form = {StoreForm::Kind::operand, size};
    else if (zydis.meta.category == ZYDIS_CATEGORY_PUSH || zydis.meta.category == ZYDIS_CATEGORY_CALL)
      form = {StoreForm::Kind::stack, size};
    else
      return {StoreForm::Kind::host, 0};
  }
  return form;
}

void emit_store_log(Emitter& emit, State& state, const Instruction& instruction, const StoreForm& form,
                    const std::function<void(uint8_t spill)>& map) {
  emit.store(&state.spill_rcx, RCX);
  map(kSpillRcx);
  emit_address(emit, instruction, form);
  emit.store(&state.spill_rax, RAX);
  map(kSpillRcx | kSpillRax);
  if (instruction.segment != 0 && form.kind == StoreForm::Kind::operand) {
    uint8_t base = instruction.segment == kFsPrefix ? 0xC0 : 0xC8;
    code(emit, {0xF3, 0x48, 0x0F, 0xAE, base}); // rdfsbase rax, rdgsbase rax
    emit.lea_sum(RCX, RAX);
  }
  emit.load(RAX, &state.log_cursor);
  uint32_t entry = 0;
  for (uint32_t at = 0; at < form.size; ++entry) {
    uint32_t size = chunk_of(form.size - at);
    uint32_t place = entry * sizeof(StoreLogEntry);
    code(emit, {0x48, 0x89, 0x88}); // mov [rax + place], rcx
    emit.u32(place);
    code(emit, {0xC7, 0x80}); // mov dword [rax + place + 8], size
    emit.u32(place + offsetof(StoreLogEntry, size));
    emit.u32(size_and_kind(size, entry == 0 ? StoreLogEntry::Kind::store : StoreLogEntry::Kind::more));
    emit_load_old(emit, size);
    code(emit, {0x48, 0x89, 0x88}); // mov [rax + place + 16], rcx
    emit.u32(place + offsetof(StoreLogEntry, old));
    at += size;
    if (at == form.size) continue;
    code(emit, {0x48, 0x8B, 0x88}); // mov rcx, [rax + place]
    emit.u32(place);
    emit.lea_offset(RCX, static_cast<int32_t>(size));
  }
  emit.lea_offset(RAX, static_cast<int32_t>(entry * sizeof(StoreLogEntry)));
  emit.store(&state.log_cursor, RAX);
  emit.load(RAX, &state.spill_rax);
  map(kSpillRcx);
  emit.load(RCX, &state.spill_rcx);
  map(kSpillNone);
}

void Translator::set_store_log(std::span<StoreLogEntry> log) {
  state_.log_cursor = reinterpret_cast<uint64_t>(log.data());
  log_end_ = log.data() + log.size();
}

StoreLogEntry* Translator::store_log_end() const {
  return reinterpret_cast<StoreLogEntry*>(state_.log_cursor);
}

// The host may write any number of entries for one instruction, and translated code does not look whether
// there is room for its own: so the run ends where the log might, at the earliest behind this instruction.
void Translator::leave_room_in_log() {
  const auto left = static_cast<size_t>(log_end_ - store_log_end()) / kMostLogEntries;
  run_target_ = std::min(run_target_, executed_ + 1 + (left > kSlack ? left - kSlack : 0));
}

void Translator::log_store_of(uint64_t address, size_t size) {
  constexpr size_t kPart = 4096;
  std::byte bytes[kPart];
  auto kind = StoreLogEntry::Kind::store;
  for (size_t done = 0; done < size;) {
    const size_t some = memory_.read(GuestAddr(address + done), bytes, std::min(size - done, kPart));
    if (some == 0) return;
    auto* entry = store_log_end();
    if (static_cast<size_t>(log_end_ - entry) < some / 8 + 4) limit("an undo log of more than its size");
    for (size_t at = 0; at < some; ++entry) {
      const uint32_t part = chunk_of(static_cast<uint32_t>(std::min<size_t>(some - at, 8)));
      *entry = {address + done + at, static_cast<uint16_t>(part),
                std::exchange(kind, StoreLogEntry::Kind::more), 0, 0};
      std::memcpy(&entry->old, bytes + at, part);
      at += part;
    }
    state_.log_cursor = reinterpret_cast<uint64_t>(entry);
    done += some;
  }
}

// What the host has to log, because no short sequence of instructions could.
void Translator::log_accesses_of(const Instruction& instruction) {
  if (options_.log_loads) {
    for (const MemoryAccess& load : loads_of(instruction, *this, memory_))
      log_load_of(load.address, load.size);
  }
  if (std::optional<StringInstruction> string = repeated_string(instruction)) {
    const StringOperands operands = operands_of(*string, state_.registers);
    if (string->writes()) log_store_of(operands.destination, operands.size);
  } else if (instruction.kind == Kind::emulated && instruction.memory) {
    log_store_of(operand_address(instruction, state_.registers), cpu().xsave_size); // not its operand's size
  } else if (store_form(instruction).kind != StoreForm::Kind::none) {
    for (const MemoryAccess& access : memory_accesses(instruction, *this))
      if (access.write) log_store_of(access.address, access.size);
  }
  leave_room_in_log();
}

} // namespace rdb::engine
