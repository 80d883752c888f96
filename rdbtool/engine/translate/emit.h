// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes machine code, one named sequence a function: just those that the translator needs, so that each can
// be checked against its disassembly. None of them touches the flags unless its name says so, and none
// pushes on the guest's stack unless it stands for a push of the guest's.
#pragma once

#include "rdbtool/engine/engine.h"
#include "rdbtool/engine/instructions/decode.h"

#include <cstdint>
#include <cstring>

namespace rdb::engine {

inline bool fits_int32(uint64_t value) {
  return static_cast<int64_t>(value) == static_cast<int32_t>(static_cast<int64_t>(value));
}

// A 32-bit field to be filled in once its target is known.
struct Patch {
  uint8_t* field = nullptr;
  // Makes the field reach `target` relative to the end of the field (as branches do).
  void to(const uint8_t* target) const {
    auto distance = static_cast<int32_t>(target - (field + 4));
    std::memcpy(field, &distance, 4);
  }
};

inline constexpr uint8_t kConditionSign = 8;

class Emitter {
public:
  Emitter(uint8_t* begin, uint8_t* limit) : cursor_(begin), limit_(limit) {}

  uint8_t* here() const { return cursor_; }
  // True when fewer than `bytes` are left; the caller asks before a unit of work, not before each byte.
  bool full(size_t bytes) const { return static_cast<size_t>(limit_ - cursor_) < bytes; }

  void byte(uint8_t value) { *cursor_++ = value; }
  void bytes(const void* data, size_t size);
  void u32(uint32_t value) { bytes(&value, 4); }
  void u64(uint64_t value) { bytes(&value, 8); }

  // Memory operands are host variables within reach of a rip-relative displacement.
  void store(void* slot, Gpr reg);                  // mov [slot], reg
  void load(Gpr reg, const void* slot);             // mov reg, [slot]
  void load32(Gpr reg, const void* slot);           // mov reg32, [slot]
  void store32(void* slot, Gpr reg);                // mov [slot], reg32
  void store_imm32(void* slot, uint32_t value);     // mov dword [slot], value
  void sub_slot_flags(void* slot, int32_t amount);  // sub qword [slot], amount
  void sub_slot32_flags(void* slot, int8_t amount); // sub dword [slot], amount
  void push_slot(const void* slot);                 // push qword [slot]

  void mov_imm64(Gpr reg, uint64_t value);           // mov reg, imm64
  Patch push_constant();                             // push qword [rip + patch]
  void push_imm32(int32_t value);                    // push imm32
  void pop(Gpr reg);                                 // pop reg
  void lea_offset(Gpr reg, int32_t offset);          // lea reg, [reg + offset]
  void lea_sum(Gpr reg, Gpr other);                  // lea reg, [reg + other]
  void add_rsp(int32_t offset);                      // lea rsp, [rsp + offset]
  void load_top_of_stack(Gpr reg);                   // mov reg, [rsp]
  void load_through_rcx(uint8_t segment);            // mov rcx, [rcx], in a segment unless that is 0
  void load_byte_through_rcx();                      // movzx ecx, byte [rcx]
  void lea_rcx(Gpr base, int32_t offset);            // lea rcx, [base + offset]
  void lea_rcx_sum(Gpr base);                        // lea rcx, [rcx + base]
  void lea_rcx_fs(int32_t offset);                   // rdfsbase rcx; lea rcx, [rcx + offset]
  void ask_table_rcx(uint8_t shift, uint32_t table); // ecx = byte at table + (rcx >> shift & 0xFFFF)
  void hash_to_rax();                                // rax = 16-bit hash of rcx
  void jmp_table_rax(uint32_t table);                // jmp [table + rax*8]

  Patch jmp(); // jmp rel32
  void jmp_to(const uint8_t* target);
  Patch jcc(uint8_t condition); // jcc rel32
  uint8_t* jrcxz();             // jrcxz rel8: the byte to be filled by land()
  void jmp_to_if_rcxz(const uint8_t* target);
  void land(uint8_t* short_branch); // makes a short branch reach here
  uint8_t* short_branch(uint8_t opcode, bool address32);

  // The guest's own bytes. A rip-relative operand is made to reach its old target from the new place; false
  // when it cannot (then nothing was written).
  bool copy(const Instruction& instruction);
  // mov reg, r/m64 with the operand of an indirect branch. Same rule.
  bool load_operand(Gpr reg, const Instruction& instruction);
  // lea reg, with the memory operand of any instruction; without its segment. Same rule.
  bool address_of_operand(Gpr reg, const Instruction& instruction);

private:
  bool with_operand(uint8_t opcode, Gpr reg, const Instruction& instruction, uint8_t segment);
  void rip_operand(uint8_t reg_field, const void* slot, size_t bytes_behind);
  bool put_with_operand(const Instruction& instruction, const uint8_t* head, size_t head_size,
                        uint8_t reg_field, size_t tail_offset);

  uint8_t* cursor_;
  uint8_t* limit_;
};

// The bytes before ModRM of an instruction with a rip-relative operand, fit for another operand without an
// extended base or index register.
void copy_head(const Instruction& instruction, uint8_t* head);

} // namespace rdb::engine
