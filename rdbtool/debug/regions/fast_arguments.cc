// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/fast_arguments.h"

#include "rdbtool/engine/instructions/dwarf_registers.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace rdb::debug {
namespace {

using descriptors::Class;

constexpr uint64_t kNoRegister = 0;

std::optional<FastArgument> fast_argument(const descriptors::Argument& argument,
                                          const engine::Registers& registers, uint64_t bias) {
  if (argument.parts.size() != 1) return std::nullopt;
  const descriptors::Part& part = argument.parts[0];
  const bool fits = part.offset == 0 && part.size <= sizeof(uint64_t) && argument.size <= sizeof(uint64_t);
  const bool in_register = part.cls == Class::in_register || part.cls == Class::stack;
  if (in_register && part.reg >= std::size(engine::kDwarfOrder)) return std::nullopt;
  const uint64_t* base = in_register ? &registers.gpr[engine::kDwarfOrder[part.reg]] : &kNoRegister;
  switch (part.cls) {
  case Class::stack:
    return FastArgument{base, static_cast<uint64_t>(part.reg_offset), true};
  case Class::in_register:
    if (!fits) return std::nullopt;
    return FastArgument{base, 0, false};
  case Class::global:
    return FastArgument{base, part.address.value + bias, true};
  case Class::constant: {
    if (!fits) return std::nullopt;
    uint64_t value = 0;
    std::memcpy(&value, part.bytes.data(), std::min<size_t>(part.size, part.bytes.size()));
    return FastArgument{base, value, false};
  }
  default:
    return std::nullopt;
  }
}

} // namespace

std::optional<std::vector<FastArgument>>
fast_arguments(std::span<const descriptors::Argument* const> arguments, const engine::Registers& registers,
               uint64_t bias) {
  std::vector<FastArgument> result;
  for (const descriptors::Argument* argument : arguments) {
    std::optional<FastArgument> fast;
    if (argument != nullptr) fast = fast_argument(*argument, registers, bias);
    if (!fast) return std::nullopt;
    result.push_back(*fast);
  }
  return result;
}

} // namespace rdb::debug
