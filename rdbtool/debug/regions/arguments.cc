// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/regions/arguments.h"

#include "rdbtool/base/error.h"
#include "rdbtool/engine/instructions/dwarf_registers.h"

#include <algorithm>
#include <cstring>

namespace rdb::debug {
namespace {

using descriptors::Class;
using descriptors::Op;
using descriptors::Part;

constexpr descriptors::Register kFirstXmm = 17;
constexpr descriptors::Register kLastXmm = 32;

// The bytes of a register, low ones first; how many there are.
size_t register_bytes(const ArgumentSource& frame, descriptors::Register number, std::byte (&out)[64]) {
  if (number >= kFirstXmm && number <= kLastXmm) {
    frame.engine.read_vector(number - kFirstXmm, out);
    return engine::cpu().avx ? 32 : 16;
  }
  uint64_t value = general_register(frame.engine.registers(), number);
  std::memcpy(out, &value, 8);
  return 8;
}

uint64_t evaluate(const std::vector<descriptors::Step>& steps, const ArgumentSource& frame, bool& good) {
  std::vector<uint64_t> stack;
  auto pop = [&] {
    if (stack.empty()) {
      good = false;
      return uint64_t{0};
    }
    uint64_t value = stack.back();
    stack.pop_back();
    return value;
  };
  auto signed_of = [](uint64_t value) { return static_cast<int64_t>(value); };
  for (const descriptors::Step& step : steps) {
    switch (step.op) {
    case Op::kRegister:
      stack.push_back(
          general_register(frame.engine.registers(), static_cast<descriptors::Register>(step.operand)));
      continue;
    case Op::kConstant:
      stack.push_back(step.operand);
      continue;
    case Op::kAddress:
      stack.push_back(step.address.value + frame.bias);
      continue;
    case Op::kLoad: {
      uint64_t value = 0;
      uint64_t address = pop();
      if (step.operand > 8 || frame.memory.read(GuestAddr(address), &value, step.operand) != step.operand)
        good = false;
      stack.push_back(value);
      continue;
    }
    case Op::kSignExtend: {
      auto shift = 64 - step.operand;
      stack.push_back(static_cast<uint64_t>(signed_of(pop() << shift) >> shift));
      continue;
    }
    case Op::kZeroExtend: {
      auto shift = 64 - step.operand;
      stack.push_back(pop() << shift >> shift);
      continue;
    }
    case Op::kNeg:
      stack.push_back(-pop());
      continue;
    case Op::kNot:
      stack.push_back(~pop());
      continue;
    default:
      break;
    }
    uint64_t right = pop();
    uint64_t left = pop();
    uint64_t result = 0;
    switch (step.op) {
    case Op::kAdd:
      result = left + right;
      break;
    case Op::kSub:
      result = left - right;
      break;
    case Op::kMul:
      result = left * right;
      break;
    case Op::kDiv:
      if (right == 0 || (right == ~0ull && left == 1ull << 63))
        good = false;
      else
        result = static_cast<uint64_t>(signed_of(left) / signed_of(right));
      break;
    case Op::kMod:
      if (right == 0)
        good = false;
      else
        result = left % right;
      break;
    case Op::kAnd:
      result = left & right;
      break;
    case Op::kOr:
      result = left | right;
      break;
    case Op::kXor:
      result = left ^ right;
      break;
    case Op::kShl:
      result = right < 64 ? left << right : 0;
      break;
    case Op::kShr:
      result = right < 64 ? left >> right : 0;
      break;
    case Op::kSar:
      result = static_cast<uint64_t>(signed_of(left) >> std::min<uint64_t>(right, 63));
      break;
    case Op::kEq:
      result = left == right;
      break;
    case Op::kNe:
      result = left != right;
      break;
    case Op::kLt:
      result = signed_of(left) < signed_of(right);
      break;
    case Op::kLe:
      result = signed_of(left) <= signed_of(right);
      break;
    case Op::kGt:
      result = signed_of(left) > signed_of(right);
      break;
    case Op::kGe:
      result = signed_of(left) >= signed_of(right);
      break;
    default:
      good = false;
    }
    stack.push_back(result);
  }
  return pop();
}

// The guest address of a part that is in memory; 0 if it is not.
uint64_t address_of(const Part& part, const ArgumentSource& frame, bool& good) {
  switch (part.cls) {
  case Class::kStack:
    return general_register(frame.engine.registers(), part.reg) + static_cast<uint64_t>(part.reg_offset);
  case Class::kGlobal:
    return part.address.value + frame.bias;
  case Class::kTls:
    good = frame.tls_block != 0;
    return frame.tls_block + part.address.value;
  case Class::kAddress:
    return evaluate(part.steps, frame, good);
  default:
    return 0;
  }
}

bool in_memory(Class cls) {
  return cls == Class::kStack || cls == Class::kGlobal || cls == Class::kTls || cls == Class::kAddress;
}

// Copies a part into `to`. False with a reason if it cannot be had.
bool copy_part(const Part& part, const ArgumentSource& frame, std::byte* to, std::string& reason) {
  bool good = true;
  if (in_memory(part.cls)) {
    uint64_t address = address_of(part, frame, good);
    if (good && frame.memory.read(GuestAddr(address), to, part.size) == part.size) return true;
    reason = "its memory cannot be read";
    return false;
  }
  switch (part.cls) {
  case Class::kRegister: {
    std::byte bytes[64];
    size_t size = register_bytes(frame, part.reg, bytes);
    if (part.size > size) {
      reason = "wider than its register";
      return false;
    }
    std::memcpy(to, bytes, part.size);
    return true;
  }
  case Class::kUnread:
    std::memset(to, 0, part.size);
    return true;
  case Class::kConstant:
    std::memcpy(to, part.bytes.data(), std::min<size_t>(part.size, part.bytes.size()));
    return true;
  case Class::kValue: {
    uint64_t value = evaluate(part.steps, frame, good);
    std::memcpy(to, &value, std::min<size_t>(part.size, 8));
    if (!good) reason = "its expression cannot be computed";
    return good;
  }
  default:
    reason = part.reason.empty() ? "unavailable" : part.reason;
    return false;
  }
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

std::byte* ArgumentBuffer::take(size_t size, size_t align) {
  used_ = (used_ + align - 1) & ~(align - 1);
  if (used_ + size > bytes_.size())
    limit("region arguments of more than {} bytes in registers", bytes_.size());
  std::byte* result = bytes_.data() + used_;
  used_ += size;
  return result;
}

void* locate(const descriptors::Argument& argument, const ArgumentSource& frame, ArgumentBuffer& buffer,
             std::string& reason) {
  bool good = true;
  if (argument.parts.size() == 1 && in_memory(argument.parts[0].cls)) {
    uint64_t address = address_of(argument.parts[0], frame, good);
    if (good) return reinterpret_cast<void*>(address);
    reason = "its address cannot be computed";
    return nullptr;
  }
  std::byte* copy = buffer.take(std::max<size_t>(argument.size, 1), std::max<size_t>(argument.align, 16));
  for (const Part& part : argument.parts)
    if (!copy_part(part, frame, copy + part.offset, reason)) return nullptr;
  return copy;
}

} // namespace rdb::debug
