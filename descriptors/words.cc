// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tables behind words.h, and the registers by name.
#include "descriptors/words.h"

#include <array>
#include <cstdio>

namespace rdb::descriptors {

namespace {

constexpr std::array<Word<Class>, 10> kClasses = {{
    {Class::in_register, "register"},
    {Class::stack, "stack"},
    {Class::global, "global"},
    {Class::tls, "tls"},
    {Class::constant, "constant"},
    {Class::address, "address"},
    {Class::value, "value"},
    {Class::activation, "activation"},
    {Class::unread, "unread"},
    {Class::unavailable, "unavailable"},
}};

constexpr std::array<Word<Status>, 6> kStatuses = {{
    {Status::complete, "complete"},
    {Status::incomplete, "incomplete"},
    {Status::lost, "lost"},
    {Status::unused, "unused"},
    {Status::not_compiled, "not-compiled"},
    {Status::refused, "refused"},
}};

constexpr std::array<Word<Side>, 2> kSides = {{{Side::before, "before"}, {Side::after, "after"}}};

constexpr std::array<Word<Owner>, 4> kOwners = {{
    {Owner::program, "program"},
    {Owner::library, "library"},
    {Owner::host, "private"},
    {Owner::module, "module"},
}};

constexpr std::array<OpWord, 25> kOps = {{
    {Op::push_register, "reg", Operand::dwarf_register},
    {Op::push_constant, "const", Operand::number},
    {Op::push_address, "addr", Operand::address},
    {Op::add, "add", Operand::none},
    {Op::sub, "sub", Operand::none},
    {Op::mul, "mul", Operand::none},
    {Op::div, "div", Operand::none},
    {Op::mod, "mod", Operand::none},
    {Op::bit_and, "and", Operand::none},
    {Op::bit_or, "or", Operand::none},
    {Op::bit_xor, "xor", Operand::none},
    {Op::shl, "shl", Operand::none},
    {Op::shr, "shr", Operand::none},
    {Op::sar, "sar", Operand::none},
    {Op::neg, "neg", Operand::none},
    {Op::bit_not, "not", Operand::none},
    {Op::eq, "eq", Operand::none},
    {Op::ne, "ne", Operand::none},
    {Op::lt, "lt", Operand::none},
    {Op::le, "le", Operand::none},
    {Op::gt, "gt", Operand::none},
    {Op::ge, "ge", Operand::none},
    {Op::load, "load", Operand::number},
    {Op::sign_extend, "sext", Operand::number},
    {Op::zero_extend, "zext", Operand::number},
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

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (u < 0x20 || u == 0x7f) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\x%02x", u);
      result += buffer;
    } else {
      result += c;
    }
  }
  return result + '"';
}

} // namespace rdb::descriptors
