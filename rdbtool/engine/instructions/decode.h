// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One guest instruction, reduced to what the translator must know about it: how it ends a block, whether it
// addresses memory relative to rip, what it does to the flags, whether the host has to take part.
#pragma once

#include "rdbtool/base/types.h"
#include "rdbtool/engine/engine.h"

#include <cstdint>

namespace rdb::engine {

enum class Kind : uint8_t {
  plain,         // copied (with its rip-relative operand adjusted)
  jump,          // direct jmp
  branch,        // jcc
  loop,          // loop, loope, loopne, jrcxz, jecxz: short branches on rcx
  call,          // direct call
  ret,           // near return, with or without a pop count
  jump_indirect, // jmp r/m64
  call_indirect, // call r/m64
  system_call,   // syscall
  input,         // result comes from outside: see InputInstruction
  emulated,      // the engine does it in the host: see Emulated
  invalid,       // raises SIGILL, or SIGSEGV: see kProtectionFault
  refused,       // not supported: the name is in `refusal`
};

enum class Emulated : uint8_t {
  none,
  popf,
  pushf,
  xsave,
  xsavec,
  xsaveopt,
  fxsave,
  fnstenv,
  fnsave,
  breakpoint,
  software_interrupt,
  xbegin
};

// The trap that instructions of more than 15 bytes raise; others that are invalid raise another.
inline constexpr uint8_t kProtectionFault = 13;

struct Instruction {
  uint64_t pc = 0;
  uint64_t target = 0; // direct branches
  const char* refusal = nullptr;
  uint8_t length = 0;
  Kind kind = Kind::plain;
  InputInstruction input = InputInstruction::none;
  Emulated emulated = Emulated::none;
  uint8_t condition = 0;    // jcc: the condition code
  uint8_t opcode = 0;       // loop family: the opcode byte; int n: the number; invalid: kProtectionFault
  uint8_t modrm_offset = 0; // position of ModRM in bytes, 0 if none
  uint8_t disp_offset = 0;  // position of the displacement, 0 if none
  uint8_t disp_scale = 1;   // of a displacement of one byte that EVEX scales
  uint16_t pop_bytes = 0;   // ret n
  uint8_t rex = 0;          // the REX byte, 0 if none
  uint8_t rex_offset = 0;   // its position
  uint8_t vex_offset = 0;   // position of the byte with VEX' or EVEX' (inverted) X and B bits, 0 if none
  uint8_t segment = 0;      // FS or GS override byte, 0 if none
  bool address32 = false;   // 67h prefix
  bool operand16 = false;   // 66h prefix
  bool rip_relative = false;
  bool memory = false;           // has an explicit memory operand
  bool x87 = false;              // may read or change the state of x87 and MMX, unless the host does it
  bool writes_all_flags = false; // writes all six arithmetic flags whatever their old values, reading none
  bool flags_again = false;      // cmp or test: doing it twice gives the same flags and changes nothing else
  uint8_t bytes[15] = {};

  uint64_t end() const { return pc + length; }
  bool ends_block() const { return kind != Kind::plain; }
  // Where a rip-relative operand points.
  uint64_t rip_target() const;
};

// Decodes the instruction at `pc` from `bytes` (at most `size` of them). False if they do not hold a whole
// one.
bool decode(uint64_t pc, const uint8_t* bytes, size_t size, Instruction& out);

// The instruction as text, for messages.
std::string disassemble(const Instruction& instruction);

} // namespace rdb::engine
