// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decodes the instructions that programs are mostly made of, by table: all that the translator needs is where
// an instruction ends, where its operand is, and what it does to flags and control. Everything rare or odd is
// left to Zydis, which takes ten times as long.
#include "rdbtool/engine/instructions/fast_decode.h"

#include <array>
#include <cstring>
#include <initializer_list>
#include <utility>

namespace rdb::engine {
namespace {

// Shapes. An opcode without kKnown is not handled here.
constexpr uint8_t kKnown = 1;
constexpr uint8_t kModrm = 2 | kKnown;
constexpr uint8_t kImm8 = 4 | kKnown;
constexpr uint8_t kImmZ = 8 | kKnown; // four bytes, two with an operand-size prefix
constexpr uint8_t kGroup = 16;        // ModRM's reg field decides more: see group()

using Table = std::array<uint8_t, 256>;

constexpr void fill(Table& table, int first, int last, uint8_t shape) {
  for (int i = first; i <= last; ++i)
    table[static_cast<size_t>(i)] = shape;
}

constexpr Table one_byte() {
  Table t{};
  for (int row = 0; row < 0x40; row += 8) {
    fill(t, row, row + 3, kModrm);
    fill(t, row + 4, row + 4, kImm8);
    fill(t, row + 5, row + 5, kImmZ);
  }
  fill(t, 0x50, 0x5F, kKnown); // push, pop
  t[0x63] = kModrm;            // movsxd
  t[0x68] = kImmZ;
  t[0x69] = kModrm | kImmZ;
  t[0x6A] = kImm8;
  t[0x6B] = kModrm | kImm8;
  t[0x80] = kModrm | kImm8;
  t[0x81] = kModrm | kImmZ;
  t[0x83] = kModrm | kImm8;
  fill(t, 0x84, 0x8B, kModrm); // test, xchg, mov
  t[0x8D] = kModrm | kGroup;   // lea
  fill(t, 0x90, 0x99, kKnown); // nop, xchg, cdqe, cqo
  fill(t, 0x9E, 0x9F, kKnown); // sahf, lahf
  fill(t, 0xA4, 0xA7, kKnown); // movs, cmps
  t[0xA8] = kImm8;
  t[0xA9] = kImmZ;
  fill(t, 0xAA, 0xAF, kKnown); // stos, lods, scas
  fill(t, 0xB0, 0xB7, kImm8);
  fill(t, 0xC0, 0xC1, kModrm | kImm8);
  t[0xC6] = kModrm | kImm8 | kGroup;
  t[0xC7] = kModrm | kImmZ | kGroup;
  t[0xC9] = kKnown;            // leave
  fill(t, 0xD0, 0xD3, kModrm); // shifts
  t[0xF5] = kKnown;
  t[0xF6] = kModrm | kGroup;
  t[0xF7] = kModrm | kGroup;
  fill(t, 0xF8, 0xF9, kKnown);
  fill(t, 0xFC, 0xFD, kKnown);
  t[0xFE] = kModrm | kGroup;
  t[0xFF] = kModrm | kGroup;
  return t;
}

// SSE and AVX share the layout of this map; `vex` leaves out what only exists without.
constexpr Table map_0f(bool vex) {
  Table t{};
  fill(t, 0x10, 0x17, kModrm);
  fill(t, 0x28, 0x2F, kModrm);
  fill(t, 0x50, 0x6F, kModrm);
  fill(t, 0x70, 0x73, kModrm | kImm8);
  fill(t, 0x74, 0x76, kModrm);
  t[0x77] = kKnown;
  fill(t, 0x7C, 0x7F, kModrm);
  t[0xC2] = kModrm | kImm8;
  fill(t, 0xC4, 0xC6, kModrm | kImm8);
  fill(t, 0xD0, 0xFE, kModrm);
  if (vex) return t;
  t[0x18] = t[0x1E] = t[0x1F] = kModrm; // prefetch, endbr, nop
  fill(t, 0x40, 0x4F, kModrm);          // cmov
  fill(t, 0x90, 0x9F, kModrm);          // setcc
  t[0xA3] = t[0xAB] = t[0xB3] = t[0xBB] = kModrm;
  t[0xA4] = t[0xAC] = kModrm | kImm8;
  t[0xA5] = t[0xAD] = t[0xAF] = kModrm;
  t[0xB0] = t[0xB1] = t[0xC0] = t[0xC1] = t[0xC3] = kModrm;
  t[0xB6] = t[0xB7] = t[0xBE] = t[0xBF] = t[0xBC] = t[0xBD] = kModrm;
  fill(t, 0xC8, 0xCF, kKnown); // bswap
  return t;
}

constexpr Table map_0f38() {
  Table t{};
  fill(t, 0x00, 0x0B, kModrm);
  for (int i : {0x10, 0x14, 0x15, 0x17, 0x1C, 0x1D, 0x1E, 0x28, 0x29, 0x2A, 0x2B, 0x40, 0x41, 0xF0, 0xF1})
    t[static_cast<size_t>(i)] = kModrm;
  fill(t, 0x20, 0x25, kModrm);
  fill(t, 0x30, 0x3F, kModrm);
  fill(t, 0xDB, 0xDF, kModrm);
  return t;
}

constexpr Table map_0f3a() {
  Table t{};
  fill(t, 0x08, 0x0F, kModrm | kImm8);
  fill(t, 0x14, 0x17, kModrm | kImm8);
  fill(t, 0x20, 0x22, kModrm | kImm8);
  fill(t, 0x40, 0x42, kModrm | kImm8);
  t[0x44] = t[0xDF] = kModrm | kImm8;
  fill(t, 0x60, 0x63, kModrm | kImm8);
  return t;
}

constexpr Table kOneByte = one_byte();
constexpr Table k0f = map_0f(false);
constexpr Table kVex0f = map_0f(true);
constexpr Table k0f38 = map_0f38();
constexpr Table k0f3a = map_0f3a();

// Operations 0 to 7 of the arithmetic rows: add or adc sbb and sub xor cmp.
void arithmetic(Instruction& out, unsigned operation) {
  out.writes_all_flags = operation != 2 && operation != 3;
  out.flags_again = operation == 7;
}

// What the reg field of ModRM decides. False: not handled here.
bool group(uint8_t opcode, unsigned reg, bool memory, uint8_t& shape, Instruction& out) {
  switch (opcode) {
  case 0x8D:
    return memory;
  case 0xC6:
  case 0xC7:
    return reg == 0;
  case 0xF6:
  case 0xF7:
    if (reg < 2) {
      shape |= opcode == 0xF6 ? kImm8 : kImmZ;
      out.writes_all_flags = out.flags_again = true;
    }
    if (reg == 3) out.writes_all_flags = true;
    return true;
  case 0xFE:
    return reg < 2;
  default: // 0xFF
    if (reg == 2) out.kind = Kind::call_indirect;
    if (reg == 4) out.kind = Kind::jump_indirect;
    return reg != 3 && reg != 5 && reg != 7;
  }
}

} // namespace

bool may_use_mmx(uint8_t map, uint8_t opcode, bool has_66, bool has_f2_f3) {
  const bool converts = map == 0 && (opcode == 0x2A || opcode == 0x2C || opcode == 0x2D);
  if (converts) return !has_f2_f3;
  if (has_66) return false; // then it is an xmm register
  if (map == 0x38) return opcode < 0x20;
  if (map == 0x3A) return opcode == 0x0F;
  if (has_f2_f3) return opcode == 0xD6; // movdq2q, movq2dq
  return (opcode >= 0x60 && opcode < 0x80) || opcode == 0xC4 || opcode == 0xC5 || opcode >= 0xD0;
}

bool decode_fast(uint64_t pc, const uint8_t* bytes, size_t size, Instruction& out) {
  if (size < 16) return false;
  const uint8_t* p = bytes;
  bool narrow = false;
  bool repeat = false;
  for (bool prefix = true; prefix;) {
    switch (*p) {
    case 0x66:
      narrow = true;
      break;
    case 0x67:
      out.address32 = true;
      break;
    case 0x64:
    case 0x65:
      if (out.segment) return false;
      out.segment = *p;
      break;
    case 0x2E:
    case 0x3E:
      if (out.segment) return false;
      break;
    case 0xF2:
    case 0xF3:
      repeat = true;
      break;
    default:
      prefix = false;
      continue;
    }
    if (++p - bytes > 8) return false;
  }
  if ((*p & 0xF0) == 0x40) {
    out.rex_offset = static_cast<uint8_t>(p - bytes);
    out.rex = *p++;
  }
  const bool wide = out.rex & 8;
  uint8_t opcode = *p++;
  uint8_t shape;

  auto relative = [&](Kind kind, size_t displacement_size) {
    if (narrow) return false;
    int64_t displacement;
    if (displacement_size == 1) {
      displacement = int64_t{*p ^ 0x80} - 0x80; // sign-extended
    } else {
      int32_t value;
      std::memcpy(&value, p, 4);
      displacement = value;
    }
    p += displacement_size;
    out.kind = kind;
    out.condition = kind == Kind::branch ? p[-1 - static_cast<int>(displacement_size)] & 15 : 0;
    out.length = static_cast<uint8_t>(p - bytes);
    out.target = pc + out.length + static_cast<uint64_t>(displacement);
    return true;
  };
  auto finish = [&] {
    out.pc = pc;
    std::memcpy(out.bytes, bytes, sizeof out.bytes);
    return true;
  };

  switch (opcode) {
  case 0x70 ... 0x7F:
    return relative(Kind::branch, 1) && finish();
  case 0xEB:
    return relative(Kind::jump, 1) && finish();
  case 0xE9:
    return relative(Kind::jump, 4) && finish();
  case 0xE8:
    return relative(Kind::call, 4) && finish();
  case 0xC3:
    if (narrow) return false;
    out.kind = Kind::ret;
    out.length = static_cast<uint8_t>(p - bytes);
    return finish();
  case 0xB8 ... 0xBF:
    p += wide ? 8 : narrow ? 2 : 4;
    out.length = static_cast<uint8_t>(p - bytes);
    return out.length <= 15 && finish();
  case 0x0F:
    opcode = *p++;
    if ((opcode & 0xF0) == 0x80) return relative(Kind::branch, 4) && finish();
    if (opcode == 0x38 || opcode == 0x3A) {
      uint8_t map = std::exchange(opcode, *p++);
      shape = map == 0x38 ? k0f38[opcode] : k0f3a[opcode];
      if (may_use_mmx(map, opcode, narrow, repeat)) return false;
    } else {
      shape = k0f[opcode];
      if (may_use_mmx(0, opcode, narrow, repeat)) return false;
    }
    opcode = 0x0F;
    break;
  case 0xC4:
  case 0xC5: {
    if (narrow || repeat || out.rex) return false;
    unsigned map = 1;
    if (opcode == 0xC4) {
      out.vex_offset = static_cast<uint8_t>(p - bytes);
      map = *p & 31;
      ++p;
    }
    ++p;
    shape = map == 1 ? kVex0f[*p] : map == 2 ? kModrm : map == 3 ? kModrm | kImm8 : uint8_t{0};
    ++p;
    break;
  }
  default:
    shape = kOneByte[opcode];
    if (opcode < 0x40) arithmetic(out, opcode >> 3);
    if ((opcode & 0xFE) == 0x84 || (opcode & 0xFE) == 0xA8) out.writes_all_flags = out.flags_again = true;
    break;
  }
  if (!(shape & kKnown)) return false;
  if ((shape & kModrm) == kModrm) {
    uint8_t modrm = *p;
    out.modrm_offset = static_cast<uint8_t>(p - bytes);
    ++p;
    unsigned mod = modrm >> 6;
    unsigned rm = modrm & 7;
    unsigned reg = modrm >> 3 & 7;
    out.memory = mod != 3;
    if (opcode >= 0x80 && opcode <= 0x83) arithmetic(out, reg);
    if (shape & kGroup && !group(opcode, reg, out.memory, shape, out)) return false;
    if (out.kind != Kind::plain && narrow) return false;
    if (out.memory) {
      unsigned displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
      if (rm == 4 && (*p++ & 7) == 5 && mod == 0) displacement = 4;
      if (rm == 5 && mod == 0) {
        out.rip_relative = true;
        displacement = 4;
      }
      if (displacement) out.disp_offset = static_cast<uint8_t>(p - bytes);
      p += displacement;
    }
  }
  if ((shape & kImm8) == kImm8) p += 1;
  if ((shape & kImmZ) == kImmZ) p += narrow && !wide ? 2 : 4;
  if (p - bytes > 15) return false;
  out.length = static_cast<uint8_t>(p - bytes);
  return finish();
}

} // namespace rdb::engine
