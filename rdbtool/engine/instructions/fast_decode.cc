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

// What the reg field of ModRM decides: the shape, which is `shape` or more; 0 if not handled here.
uint8_t group(uint8_t opcode, unsigned reg, bool memory, uint8_t shape, Instruction& out) {
  switch (opcode) {
  case 0x8D:
    return memory ? shape : 0;
  case 0xC6:
  case 0xC7:
    return reg == 0 ? shape : 0;
  case 0xF6:
  case 0xF7:
    if (reg == 3) out.writes_all_flags = true;
    if (reg >= 2) return shape;
    out.writes_all_flags = out.flags_again = true;
    return shape | (opcode == 0xF6 ? kImm8 : kImmZ);
  case 0xFE:
    return reg < 2 ? shape : 0;
  default: // 0xFF
    if (reg == 2) out.kind = Kind::call_indirect;
    if (reg == 4) out.kind = Kind::jump_indirect;
    return reg != 3 && reg != 5 && reg != 7 ? shape : 0;
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

namespace {

// Goes through one instruction from its first byte to its last: prefixes, opcode, operand, immediate. Each
// step returns false at what takes a full decoder. All steps are inlined, and none takes the address of a
// member, so that the members stay in registers: otherwise decoding takes an eighth longer.
class FastDecoder {
public:
  FastDecoder(uint64_t pc, const uint8_t* bytes, Instruction& out)
      : pc_(pc), bytes_(bytes), at_(bytes), out_(out) {}

  [[gnu::always_inline]] bool decode() {
    if (!take_prefixes()) return false;
    const uint8_t opcode = *at_++;
    switch (opcode) {
    case 0x70 ... 0x7F:
      return take_relative<int8_t>(Kind::branch, opcode);
    case 0xEB:
      return take_relative<int8_t>(Kind::jump);
    case 0xE9:
      return take_relative<int32_t>(Kind::jump);
    case 0xE8:
      return take_relative<int32_t>(Kind::call);
    case 0xC3:
      out_.kind = Kind::ret;
      return !narrow_ && finish();
    case 0xB8 ... 0xBF: // mov of an immediate as wide as the register
      at_ += wide() ? 8 : narrow_ ? 2 : 4;
      return finish();
    case 0x0F:
      if ((*at_ & 0xF0) == 0x80) return take_relative<int32_t>(Kind::branch, *at_++);
      return take_map_0f() && take_rest(opcode);
    case 0xC4:
    case 0xC5:
      return take_vex(opcode) && take_rest(opcode);
    default:
      take_one_byte(opcode);
      return take_rest(opcode);
    }
  }

private:
  bool wide() const { return out_.rex & 8; }

  [[gnu::always_inline]] bool take_prefixes() {
    for (;; ++at_) {
      if (at_ - bytes_ > 8) return false;
      switch (*at_) {
      case 0x66:
        narrow_ = true;
        break;
      case 0x67:
        out_.address32 = true;
        break;
      case 0x64:
      case 0x65:
        if (out_.segment) return false;
        out_.segment = *at_;
        break;
      case 0x2E:
      case 0x3E:
        if (out_.segment) return false;
        break;
      case 0xF2:
      case 0xF3:
        repeat_ = true;
        break;
      default:
        if ((*at_ & 0xF0) == 0x40) {
          out_.rex_offset = static_cast<uint8_t>(at_ - bytes_);
          out_.rex = *at_++;
        }
        return true;
      }
    }
  }

  // A branch to a displacement that comes next. The condition is in the opcode's low bits.
  template <class Displacement>
  [[gnu::always_inline]] bool take_relative(Kind kind, uint8_t condition = 0) {
    if (narrow_) return false;
    Displacement displacement;
    std::memcpy(&displacement, at_, sizeof displacement);
    at_ += sizeof displacement;
    out_.kind = kind;
    out_.condition = condition & 15;
    out_.target = pc_ + static_cast<uint64_t>(at_ - bytes_) + static_cast<uint64_t>(int64_t{displacement});
    return finish();
  }

  [[gnu::always_inline]] void take_one_byte(uint8_t opcode) {
    shape_ = kOneByte[opcode];
    if (opcode < 0x40) arithmetic(out_, opcode >> 3);
    const bool is_test = (opcode & 0xFE) == 0x84 || (opcode & 0xFE) == 0xA8;
    if (is_test) out_.writes_all_flags = out_.flags_again = true;
  }

  [[gnu::always_inline]] bool take_map_0f() {
    uint8_t map = 0, opcode = *at_++;
    if (opcode == 0x38 || opcode == 0x3A) map = std::exchange(opcode, *at_++);
    shape_ = map == 0x38 ? k0f38[opcode] : map == 0x3A ? k0f3a[opcode] : k0f[opcode];
    return !may_use_mmx(map, opcode, narrow_, repeat_);
  }

  [[gnu::always_inline]] bool take_vex(uint8_t prefix) {
    if (narrow_ || repeat_ || out_.rex) return false;
    unsigned map = 1;
    if (prefix == 0xC4) {
      out_.vex_offset = static_cast<uint8_t>(at_ - bytes_);
      map = *at_++ & 31;
    }
    ++at_;
    const uint8_t opcode = *at_++;
    shape_ = map == 1 ? kVex0f[opcode] : map == 2 ? kModrm : map == 3 ? kModrm | kImm8 : uint8_t{0};
    return true;
  }

  // What comes after the opcode. `opcode` is the first byte of it.
  [[gnu::always_inline]] bool take_rest(uint8_t opcode) {
    if (!(shape_ & kKnown)) return false;
    if ((shape_ & kModrm) == kModrm && !take_modrm(opcode)) return false;
    if ((shape_ & kImm8) == kImm8) at_ += 1;
    if ((shape_ & kImmZ) == kImmZ) at_ += narrow_ && !wide() ? 2 : 4;
    return finish();
  }

  [[gnu::always_inline]] bool take_modrm(uint8_t opcode) {
    out_.modrm_offset = static_cast<uint8_t>(at_ - bytes_);
    const uint8_t modrm = *at_++;
    const unsigned mod = modrm >> 6, reg = modrm >> 3 & 7;
    out_.memory = mod != 3;
    if (opcode >= 0x80 && opcode <= 0x83) arithmetic(out_, reg);
    if (shape_ & kGroup) shape_ = group(opcode, reg, out_.memory, shape_, out_);
    if (shape_ == 0) return false;
    if (out_.kind != Kind::plain && narrow_) return false;
    if (out_.memory) take_memory(mod, modrm & 7);
    return true;
  }

  // The SIB byte and the displacement.
  [[gnu::always_inline]] void take_memory(unsigned mod, unsigned rm) {
    unsigned displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (rm == 4 && (*at_++ & 7) == 5 && mod == 0) displacement = 4;
    if (rm == 5 && mod == 0) {
      out_.rip_relative = true;
      displacement = 4;
    }
    if (displacement) out_.disp_offset = static_cast<uint8_t>(at_ - bytes_);
    at_ += displacement;
  }

  [[gnu::always_inline]] bool finish() {
    if (at_ - bytes_ > 15) return false;
    out_.pc = pc_;
    out_.length = static_cast<uint8_t>(at_ - bytes_);
    std::memcpy(out_.bytes, bytes_, sizeof out_.bytes);
    return true;
  }

  const uint64_t pc_;
  const uint8_t* const bytes_;
  const uint8_t* at_;
  Instruction& out_;
  bool narrow_ = false; // prefix 66
  bool repeat_ = false; // F2 or F3
  uint8_t shape_ = 0;
};

} // namespace

bool decode_fast(uint64_t pc, const uint8_t* bytes, size_t size, Instruction& out) {
  return size >= 16 && FastDecoder(pc, bytes, out).decode();
}

} // namespace rdb::engine
