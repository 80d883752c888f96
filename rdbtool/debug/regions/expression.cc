// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/expression.h"

#include "rdbtool/engine/instructions/dwarf_registers.h"

#include <algorithm>

namespace rdb::debug {
namespace {

using descriptors::Op;
using descriptors::Step;

int64_t as_signed(uint64_t value) {
  return static_cast<int64_t>(value);
}

std::optional<uint64_t> load(uint64_t address, uint64_t size, engine::GuestMemory& memory) {
  uint64_t value = 0;
  if (size > sizeof value || memory.read(GuestAddr(address), &value, size) != size) return std::nullopt;
  return value;
}

// Steps that take nothing from the stack.
std::optional<uint64_t> constant(const Step& step, const ArgumentSource& source) {
  switch (step.op) {
  case Op::push_register:
    return general_register(source.engine.registers(), static_cast<descriptors::Register>(step.operand));
  case Op::push_constant:
    return step.operand;
  case Op::push_address:
    return step.address.value + source.bias;
  default:
    return std::nullopt;
  }
}

bool is_unary(Op op) {
  switch (op) {
  case Op::load:
  case Op::sign_extend:
  case Op::zero_extend:
  case Op::neg:
  case Op::bit_not:
    return true;
  default:
    return false;
  }
}

std::optional<uint64_t> unary(const Step& step, uint64_t value, const ArgumentSource& source) {
  const uint64_t unused_bits = 64 - step.operand;
  switch (step.op) {
  case Op::load:
    return load(value, step.operand, source.memory);
  case Op::sign_extend:
    return static_cast<uint64_t>(as_signed(value << unused_bits) >> unused_bits);
  case Op::zero_extend:
    return value << unused_bits >> unused_bits;
  case Op::neg:
    return -value;
  case Op::bit_not:
    return ~value;
  default:
    return std::nullopt;
  }
}

// Division is signed, and the remainder is not, as in DWARF.
std::optional<uint64_t> divide(Op op, uint64_t left, uint64_t right) {
  if (right == 0) return std::nullopt;
  if (op == Op::mod) return left % right;
  if (right == ~0ull && left == 1ull << 63) return std::nullopt;
  return static_cast<uint64_t>(as_signed(left) / as_signed(right));
}

std::optional<uint64_t> binary(Op op, uint64_t left, uint64_t right) {
  switch (op) {
  case Op::add:
    return left + right;
  case Op::sub:
    return left - right;
  case Op::mul:
    return left * right;
  case Op::div:
  case Op::mod:
    return divide(op, left, right);
  case Op::bit_and:
    return left & right;
  case Op::bit_or:
    return left | right;
  case Op::bit_xor:
    return left ^ right;
  case Op::shl:
    return right < 64 ? left << right : 0;
  case Op::shr:
    return right < 64 ? left >> right : 0;
  case Op::sar:
    return static_cast<uint64_t>(as_signed(left) >> std::min<uint64_t>(right, 63));
  case Op::eq:
    return left == right;
  case Op::ne:
    return left != right;
  case Op::lt:
    return as_signed(left) < as_signed(right);
  case Op::le:
    return as_signed(left) <= as_signed(right);
  case Op::gt:
    return as_signed(left) > as_signed(right);
  case Op::ge:
    return as_signed(left) >= as_signed(right);
  default:
    return std::nullopt;
  }
}

// The value that a step adds to the stack, after it has taken its operands from there.
std::optional<uint64_t> perform(const Step& step, std::vector<uint64_t>& stack,
                                const ArgumentSource& source) {
  if (std::optional<uint64_t> value = constant(step, source)) return value;
  const size_t operands = is_unary(step.op) ? 1 : 2;
  if (stack.size() < operands) return std::nullopt;
  const uint64_t top = stack.back();
  const uint64_t below = stack[stack.size() - operands];
  stack.resize(stack.size() - operands);
  return operands == 1 ? unary(step, top, source) : binary(step.op, below, top);
}

} // namespace

uint64_t general_register(const engine::Registers& registers, descriptors::Register number) {
  if (number < 16) return registers.gpr[engine::kDwarfOrder[number]];
  switch (number) {
  case 16:
    return registers.rip;
  case 49:
    return registers.rflags;
  case 58:
    return registers.fs_base;
  case 59:
    return registers.gs_base;
  default:
    return 0;
  }
}

std::optional<uint64_t> evaluate(const std::vector<Step>& steps, const ArgumentSource& source) {
  std::vector<uint64_t> stack;
  for (const Step& step : steps) {
    std::optional<uint64_t> value = perform(step, stack, source);
    if (!value) return std::nullopt;
    stack.push_back(*value);
  }
  if (stack.empty()) return std::nullopt;
  return stack.back();
}

} // namespace rdb::debug
