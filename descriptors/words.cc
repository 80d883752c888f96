// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables behind words.h, and the registers by name.
#include "descriptors/words.h"

#include <array>

namespace rdb::descriptors {

namespace {

constexpr std::array<Word<Class>, 10> kClasses = {{
    {Class::kRegister, "register"},
    {Class::kStack, "stack"},
    {Class::kGlobal, "global"},
    {Class::kTls, "tls"},
    {Class::kConstant, "constant"},
    {Class::kAddress, "address"},
    {Class::kValue, "value"},
    {Class::kActivation, "activation"},
    {Class::kUnread, "unread"},
    {Class::kUnavailable, "unavailable"},
}};

constexpr std::array<Word<Status>, 6> kStatuses = {{
    {Status::kComplete, "complete"},
    {Status::kIncomplete, "incomplete"},
    {Status::kLost, "lost"},
    {Status::kUnused, "unused"},
    {Status::kNotCompiled, "not-compiled"},
    {Status::kRefused, "refused"},
}};

constexpr std::array<Word<Side>, 2> kSides = {{{Side::kBefore, "before"}, {Side::kAfter, "after"}}};

constexpr std::array<Word<Owner>, 4> kOwners = {{
    {Owner::kProgram, "program"},
    {Owner::kLibrary, "library"},
    {Owner::kPrivate, "private"},
    {Owner::kModule, "module"},
}};

constexpr std::array<OpWord, 25> kOps = {{
    {Op::kRegister, "reg", Operand::kRegister},
    {Op::kConstant, "const", Operand::kNumber},
    {Op::kAddress, "addr", Operand::kAddress},
    {Op::kAdd, "add", Operand::kNone},
    {Op::kSub, "sub", Operand::kNone},
    {Op::kMul, "mul", Operand::kNone},
    {Op::kDiv, "div", Operand::kNone},
    {Op::kMod, "mod", Operand::kNone},
    {Op::kAnd, "and", Operand::kNone},
    {Op::kOr, "or", Operand::kNone},
    {Op::kXor, "xor", Operand::kNone},
    {Op::kShl, "shl", Operand::kNone},
    {Op::kShr, "shr", Operand::kNone},
    {Op::kSar, "sar", Operand::kNone},
    {Op::kNeg, "neg", Operand::kNone},
    {Op::kNot, "not", Operand::kNone},
    {Op::kEq, "eq", Operand::kNone},
    {Op::kNe, "ne", Operand::kNone},
    {Op::kLt, "lt", Operand::kNone},
    {Op::kLe, "le", Operand::kNone},
    {Op::kGt, "gt", Operand::kNone},
    {Op::kGe, "ge", Operand::kNone},
    {Op::kLoad, "load", Operand::kNumber},
    {Op::kSignExtend, "sext", Operand::kNumber},
    {Op::kZeroExtend, "zext", Operand::kNumber},
}};

// A run of registers with consecutive DWARF numbers (System V psABI for x86-64, table of register numbers).
struct Bank {
  Register first;
  unsigned size; // of one register, in bytes
  std::array<std::string_view, 17> names;
};
constexpr Bank kBanks[] = {
    {0,
     8,
     {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
      "r15", "rip"}},
    {17,
     64,
     {"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
      "xmm12", "xmm13", "xmm14", "xmm15"}},
    {33, 10, {"st0", "st1", "st2", "st3", "st4", "st5", "st6", "st7"}},
    {49, 8, {"rflags"}},
    {58, 8, {"fs.base", "gs.base"}},
    {67,
     64,
     {"xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",
      "xmm27", "xmm28", "xmm29", "xmm30", "xmm31"}},
    {118, 8, {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"}},
};

} // namespace

std::span<const Word<Class>> class_words() {
  return kClasses;
}
std::span<const Word<Status>> status_words() {
  return kStatuses;
}
std::span<const Word<Side>> side_words() {
  return kSides;
}
std::span<const Word<Owner>> owner_words() {
  return kOwners;
}
std::span<const OpWord> op_words() {
  return kOps;
}

std::string_view register_name(Register number) {
  for (const Bank& bank : kBanks)
    if (number >= bank.first && number - bank.first < static_cast<int>(bank.names.size()))
      if (std::string_view name = bank.names[number - bank.first]; !name.empty()) return name;
  return "";
}

Register register_number(std::string_view name) {
  for (const Bank& bank : kBanks)
    for (size_t i = 0; i < bank.names.size(); ++i)
      if (!name.empty() && bank.names[i] == name) return static_cast<Register>(bank.first + i);
  return kNoRegister;
}

unsigned register_size(Register number) {
  for (const Bank& bank : kBanks)
    if (number >= bank.first && number - bank.first < static_cast<int>(bank.names.size()) &&
        !bank.names[number - bank.first].empty())
      return bank.size;
  return 0;
}

} // namespace rdb::descriptors
