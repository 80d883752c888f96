// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/translate/emit.h"

namespace rdb::engine {

void Emitter::bytes(const void* data, size_t size) {
  std::memcpy(cursor_, data, size);
  cursor_ += size;
}

// ModRM and displacement of [rip + x]; `bytes_behind` is what follows the displacement in the instruction.
void Emitter::rip_operand(uint8_t reg_field, const void* slot, size_t bytes_behind) {
  byte(static_cast<uint8_t>((reg_field & 7) << 3 | 5));
  const uint8_t* next = cursor_ + 4 + bytes_behind;
  u32(static_cast<uint32_t>(static_cast<const uint8_t*>(slot) - next));
}

void Emitter::store(void* slot, Gpr reg) {
  byte(static_cast<uint8_t>(0x48 | (reg >> 3) << 2));
  byte(0x89);
  rip_operand(reg, slot, 0);
}

void Emitter::load(Gpr reg, const void* slot) {
  byte(static_cast<uint8_t>(0x48 | (reg >> 3) << 2));
  byte(0x8B);
  rip_operand(reg, slot, 0);
}

void Emitter::load32(Gpr reg, const void* slot) {
  if (reg >= R8) byte(0x44);
  byte(0x8B);
  rip_operand(reg, slot, 0);
}

void Emitter::store32(void* slot, Gpr reg) {
  if (reg >= R8) byte(0x44);
  byte(0x89);
  rip_operand(reg, slot, 0);
}

void Emitter::store_imm32(void* slot, uint32_t value) {
  byte(0xC7);
  rip_operand(0, slot, 4);
  u32(value);
}

void Emitter::sub_slot_flags(void* slot, int32_t amount) {
  byte(0x48);
  if (amount >= -128 && amount <= 127) {
    byte(0x83);
    rip_operand(5, slot, 1);
    byte(static_cast<uint8_t>(amount));
  } else {
    byte(0x81);
    rip_operand(5, slot, 4);
    u32(static_cast<uint32_t>(amount));
  }
}

void Emitter::sub_slot32_flags(void* slot, int8_t amount) {
  byte(0x83);
  rip_operand(5, slot, 1);
  byte(static_cast<uint8_t>(amount));
}

void Emitter::push_slot(const void* slot) {
  byte(0xFF);
  rip_operand(6, slot, 0);
}

void Emitter::mov_imm64(Gpr reg, uint64_t value) {
  byte(static_cast<uint8_t>(0x48 | reg >> 3));
  byte(static_cast<uint8_t>(0xB8 | (reg & 7)));
  u64(value);
}

Patch Emitter::push_constant() {
  byte(0xFF);
  byte(0x35);
  Patch patch{cursor_};
  u32(0);
  return patch;
}

void Emitter::push_imm32(int32_t value) {
  byte(0x68);
  u32(static_cast<uint32_t>(value));
}

void Emitter::pop(Gpr reg) {
  if (reg >= R8) byte(0x41);
  byte(static_cast<uint8_t>(0x58 | (reg & 7)));
}

void Emitter::lea_offset(Gpr reg, int32_t offset) {
  // rsp and r12 as base would need a SIB byte; the translator uses rax and rcx only.
  byte(0x48);
  byte(0x8D);
  byte(static_cast<uint8_t>(0x80 | reg << 3 | reg));
  u32(static_cast<uint32_t>(offset));
}

void Emitter::lea_sum(Gpr reg, Gpr other) {
  byte(0x48);
  byte(0x8D);
  byte(static_cast<uint8_t>(reg << 3 | 4));
  byte(static_cast<uint8_t>(other << 3 | reg));
}

void Emitter::add_rsp(int32_t offset) {
  byte(0x48);
  byte(0x8D);
  if (offset >= -128 && offset <= 127) {
    byte(0x64);
    byte(0x24);
    byte(static_cast<uint8_t>(offset));
  } else {
    byte(0xA4);
    byte(0x24);
    u32(static_cast<uint32_t>(offset));
  }
}

void Emitter::load_top_of_stack(Gpr reg) {
  byte(0x48);
  byte(0x8B);
  byte(static_cast<uint8_t>(reg << 3 | 4));
  byte(0x24);
}

void Emitter::load_through_rcx(uint8_t segment) {
  if (segment) byte(segment);
  byte(0x48);
  byte(0x8B);
  byte(0x09);
}

void Emitter::load_byte_through_rcx() {
  byte(0x0F);
  byte(0xB6);
  byte(0x09);
}

void Emitter::hash_to_rax() {
  static constexpr uint8_t kCode[] = {0x0F, 0xB7, 0xC1}; // movzx eax, cx
  bytes(kCode, sizeof kCode);
}

void Emitter::jmp_table_rax(uint32_t table) {
  byte(0xFF);
  byte(0x24);
  byte(0xC5);
  u32(table);
}

Patch Emitter::jmp() {
  byte(0xE9);
  Patch patch{cursor_};
  u32(0);
  return patch;
}

void Emitter::jmp_to(const uint8_t* target) {
  jmp().to(target);
}

Patch Emitter::jcc(uint8_t condition) {
  byte(0x0F);
  byte(static_cast<uint8_t>(0x80 | condition));
  Patch patch{cursor_};
  u32(0);
  return patch;
}

uint8_t* Emitter::short_branch(uint8_t opcode, bool address32) {
  if (address32) byte(0x67);
  byte(opcode);
  byte(0);
  return cursor_ - 1;
}

uint8_t* Emitter::jrcxz() {
  return short_branch(0xE3, false);
}

void Emitter::jmp_to_if_rcxz(const uint8_t* target) {
  uint8_t* zero = jrcxz();
  uint8_t* other = short_branch(0xEB, false);
  land(zero);
  jmp_to(target);
  land(other);
}

void Emitter::land(uint8_t* branch) {
  *branch = static_cast<uint8_t>(cursor_ - (branch + 1));
}

// Writes `head` (everything before ModRM), then the instruction's ModRM with `reg_field` instead of its own
// if that is not 0xFF, its SIB and displacement, and what follows from `tail_offset` on.
bool Emitter::put_with_operand(const Instruction& instruction, const uint8_t* head, size_t head_size,
                               uint8_t reg_field, size_t tail_offset) {
  uint8_t modrm = instruction.bytes[instruction.modrm_offset];
  if (reg_field != 0xFF) modrm = static_cast<uint8_t>((modrm & 0xC7) | reg_field << 3);
  size_t tail_size = instruction.length - tail_offset;
  if (instruction.rip_relative) {
    uint64_t target = instruction.rip_target();
    auto next = reinterpret_cast<uint64_t>(cursor_) + head_size + 1 + 4 + tail_size;
    if (!instruction.address32 && fits_int32(target - next)) {
      bytes(head, head_size);
      byte(modrm);
      u32(static_cast<uint32_t>(target - next));
    } else if (fits_int32(target)) {
      // Absolute: ModRM with a SIB byte that has neither base nor index.
      bytes(head, head_size);
      byte(static_cast<uint8_t>((modrm & 0x38) | 4));
      byte(0x25);
      u32(static_cast<uint32_t>(target));
    } else {
      return false;
    }
  } else {
    bytes(head, head_size);
    byte(modrm);
    size_t rest = instruction.modrm_offset + 1u;
    bytes(instruction.bytes + rest, tail_offset - rest);
  }
  bytes(instruction.bytes + tail_offset, tail_size);
  return true;
}

// What stands before ModRM. The bits that extend base and index mean nothing with a rip-relative operand, but
// would with the operand that takes its place.
void copy_head(const Instruction& instruction, uint8_t* head) {
  std::memcpy(head, instruction.bytes, instruction.modrm_offset);
  if (instruction.rex) head[instruction.rex_offset] &= 0xFC;
  if (instruction.vex_offset) head[instruction.vex_offset] |= 0x60;
}

bool Emitter::copy(const Instruction& instruction) {
  if (!instruction.rip_relative) {
    bytes(instruction.bytes, instruction.length);
    return true;
  }
  uint8_t head[15];
  copy_head(instruction, head);
  return put_with_operand(instruction, head, instruction.modrm_offset, 0xFF, instruction.disp_offset + 4u);
}

void Emitter::lea_rcx(Gpr base, int32_t offset) {
  byte(static_cast<uint8_t>(0x48 | base >> 3));
  byte(0x8D);
  byte(static_cast<uint8_t>(0x88 | (base & 7)));
  if ((base & 7) == RSP) byte(0x24);
  u32(static_cast<uint32_t>(offset));
}

void Emitter::lea_rcx_sum(Gpr base) {
  // rcx is the index, so that every register can be the base.
  byte(static_cast<uint8_t>(0x48 | base >> 3));
  byte(0x8D);
  byte(0x4C);
  byte(static_cast<uint8_t>(RCX << 3 | (base & 7)));
  byte(0);
}

void Emitter::lea_rcx_fs(int32_t offset) {
  static constexpr uint8_t kCode[] = {0xF3, 0x48, 0x0F, 0xAE, 0xC1}; // rdfsbase rcx
  bytes(kCode, sizeof kCode);
  lea_offset(RCX, offset);
}

void Emitter::ask_table_rcx(uint8_t shift, uint32_t table) {
  const uint8_t code[] = {
      0xC4, 0xE3, 0xFB, 0xF0, 0xC9, shift, // rorx rcx, rcx, shift
      0x0F, 0xB7, 0xC9,                    // movzx ecx, cx
      0x0F, 0xB6, 0x89,                    // movzx ecx, byte [rcx + table]
  };
  bytes(code, sizeof code);
  u32(table);
}

bool Emitter::load_operand(Gpr reg, const Instruction& instruction) {
  return with_operand(0x8B, reg, instruction, instruction.segment);
}

bool Emitter::address_of_operand(Gpr reg, const Instruction& instruction) {
  // Only the operand itself, without the instruction's immediate.
  Instruction operand = instruction;
  uint8_t modrm = instruction.bytes[instruction.modrm_offset];
  bool has_sib = (modrm & 7) == 4;
  uint8_t mod = modrm >> 6;
  size_t displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
  size_t behind = instruction.modrm_offset + 1u + (has_sib ? 1 : 0);
  if (mod == 0 && ((modrm & 7) == 5 || (has_sib && (instruction.bytes[behind - 1] & 7) == 5)))
    displacement = 4;
  operand.length = static_cast<uint8_t>(behind + displacement);
  operand.pc += instruction.length - operand.length; // keeps a rip-relative operand's target
  if (instruction.vex_offset) {
    // VEX and EVEX have the bits that extend index and base inverted.
    uint8_t extended = instruction.bytes[instruction.vex_offset];
    operand.rex = static_cast<uint8_t>((extended & 0x40 ? 0 : 2) | (extended & 0x20 ? 0 : 1));
  }
  if (!with_operand(0x8D, reg, operand, 0)) return false;
  if (instruction.disp_scale != 1) { // once it is in it already
    auto short_displacement = static_cast<int8_t>(instruction.bytes[instruction.disp_offset]);
    lea_offset(reg, short_displacement * (instruction.disp_scale - 1));
  }
  return true;
}

bool Emitter::with_operand(uint8_t opcode, Gpr reg, const Instruction& instruction, uint8_t segment) {
  uint8_t head[8];
  size_t size = 0;
  if (segment) head[size++] = segment;
  if (instruction.address32) head[size++] = 0x67;
  head[size++] = static_cast<uint8_t>(0x48 | (instruction.rex & 3) | (reg >> 3) << 2);
  head[size++] = opcode;
  return put_with_operand(instruction, head, size, reg & 7, instruction.length);
}

} // namespace rdb::engine
