// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interpreter of agent expressions. Opcodes and meanings are those of the appendix "The GDB Agent
// Expression Mechanism" of gdb's manual; those for tracepoints (trace, tracev, printf ...) are refused.
#include "rdbtool/gdb/protocol/agent_expression.h"

#include <array>
#include <cstring>

namespace rdb::gdb {

namespace {

enum Opcode : uint8_t {
  op_float = 0x01,
  op_add = 0x02,
  op_sub = 0x03,
  op_mul = 0x04,
  op_div_signed = 0x05,
  op_div_unsigned = 0x06,
  op_rem_signed = 0x07,
  op_rem_unsigned = 0x08,
  op_lsh = 0x09,
  op_rsh_signed = 0x0a,
  op_rsh_unsigned = 0x0b,
  op_log_not = 0x0e,
  op_bit_and = 0x0f,
  op_bit_or = 0x10,
  op_bit_xor = 0x11,
  op_bit_not = 0x12,
  op_equal = 0x13,
  op_less_signed = 0x14,
  op_less_unsigned = 0x15,
  op_ext = 0x16,
  op_ref8 = 0x17,
  op_ref16 = 0x18,
  op_ref32 = 0x19,
  op_ref64 = 0x1a,
  op_if_goto = 0x20,
  op_goto = 0x21,
  op_const8 = 0x22,
  op_const16 = 0x23,
  op_const32 = 0x24,
  op_const64 = 0x25,
  op_reg = 0x26,
  op_end = 0x27,
  op_dup = 0x28,
  op_pop = 0x29,
  op_zero_ext = 0x2a,
  op_swap = 0x2b,
  op_pick = 0x32,
  op_rot = 0x33,
};

constexpr size_t kMaxStack = 256;
constexpr size_t kMaxSteps = 100'000;

class ExpressionMachine {
public:
  ExpressionMachine(std::span<const std::byte> code, AgentContext& context)
      : code_(code), context_(context) {}

  std::optional<int64_t> run() {
    for (size_t steps = 0; steps < kMaxSteps; ++steps) {
      uint64_t opcode = operand(1);
      if (failed_) return std::nullopt;
      if (opcode == op_end) {
        if (depth_ == 0) return std::nullopt;
        return static_cast<int64_t>(stack_[depth_ - 1]);
      }
      execute(static_cast<uint8_t>(opcode));
      if (failed_) return std::nullopt;
    }
    return std::nullopt;
  }

private:
  void execute(uint8_t opcode);
  void rearrange(uint8_t opcode);
  void extend(uint8_t opcode);
  void binary(uint8_t opcode, uint64_t a, uint64_t b);
  void divide(uint8_t opcode, uint64_t a, uint64_t b);
  void dereference(size_t size);

  void fail() { failed_ = true; }

  // Operands are stored big-endian.
  uint64_t operand(size_t size) {
    if (size > code_.size() - next_) {
      fail();
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i)
      value = value << 8 | static_cast<uint8_t>(code_[next_++]);
    return value;
  }

  uint64_t pop() {
    if (depth_ == 0) {
      fail();
      return 0;
    }
    return stack_[--depth_];
  }

  void push(uint64_t value) {
    if (depth_ == kMaxStack) return fail();
    stack_[depth_++] = value;
  }

  // From the top: 0 is the top itself.
  uint64_t peek(size_t place) {
    if (place >= depth_) {
      fail();
      return 0;
    }
    return stack_[depth_ - 1 - place];
  }

  // gdb 13 cuts a frame's base register to the width of the variable that it finds by it: "reg 6, ext 32,
  // const8 -12, ext 8, add, ref32" for an int in code whose frame base is a register, as clang's is. How far
  // to go to pass such a cut; 0 if there is none, and the number is meant.
  size_t cut_of_base() const {
    size_t at = next_;
    auto pass = [&](size_t operand_size) { at += 1 + operand_size; };
    auto looks_at = [&] { return at < code_.size() ? static_cast<Opcode>(code_[at]) : op_end; };
    if (looks_at() != op_ext && looks_at() != op_zero_ext) return 0;
    pass(1);
    while (looks_at() >= op_const8 && looks_at() <= op_const64) {
      pass(size_t{1} << (looks_at() - op_const8));
      if (looks_at() == op_ext || looks_at() == op_zero_ext) pass(1);
      if (looks_at() != op_add && looks_at() != op_sub) return 0;
      pass(0);
    }
    return looks_at() >= op_ref8 && looks_at() <= op_ref64 ? 2 : 0;
  }

  void jump(uint64_t place) {
    if (place > code_.size()) return fail();
    next_ = place;
  }

  std::span<const std::byte> code_;
  AgentContext& context_;
  size_t next_ = 0;
  std::array<uint64_t, kMaxStack> stack_;
  size_t depth_ = 0;
  bool failed_ = false;
};

void ExpressionMachine::execute(uint8_t opcode) {
  switch (opcode) {
  case op_add ... op_mul:
  case op_lsh ... op_rsh_unsigned:
  case op_bit_and ... op_bit_xor:
  case op_equal ... op_less_unsigned: {
    uint64_t b = pop(), a = pop();
    return binary(opcode, a, b);
  }
  case op_div_signed ... op_rem_unsigned: {
    uint64_t b = pop(), a = pop();
    return divide(opcode, a, b);
  }
  case op_log_not:
    return push(pop() == 0);
  case op_bit_not:
    return push(~pop());
  case op_ext:
  case op_zero_ext:
    return extend(opcode);
  case op_ref8 ... op_ref64:
    return dereference(size_t{1} << (opcode - op_ref8));
  case op_const8 ... op_const64:
    return push(operand(size_t{1} << (opcode - op_const8)));
  case op_reg: {
    auto value = context_.register_value(static_cast<unsigned>(operand(2)));
    next_ += cut_of_base();
    return value ? push(*value) : fail();
  }
  case op_if_goto: {
    uint64_t place = operand(2);
    if (pop() != 0) jump(place);
    return;
  }
  case op_goto:
    return jump(operand(2));
  case op_dup:
  case op_pop:
  case op_swap:
  case op_pick:
  case op_rot:
    return rearrange(opcode);
  case op_float: // gdb never generates it
  default:
    return fail();
  }
}

// What only moves values on the stack.
void ExpressionMachine::rearrange(uint8_t opcode) {
  switch (opcode) {
  case op_dup:
    return push(peek(0));
  case op_pop:
    pop();
    return;
  case op_swap: {
    uint64_t b = pop(), a = pop();
    push(b);
    return push(a);
  }
  case op_pick:
    return push(peek(operand(1)));
  default: { // op_rot: a b c -> c a b
    uint64_t c = pop(), b = pop(), a = pop();
    push(c);
    push(a);
    return push(b);
  }
  }
}

// Extends the value on the stack to 64 bits. The operand says how many of its low bits count.
void ExpressionMachine::extend(uint8_t opcode) {
  uint64_t bits = operand(1), value = pop();
  if (bits == 0 || bits > 64) return fail();
  uint64_t shift = 64 - bits;
  if (opcode == op_zero_ext) return push(value << shift >> shift);
  return push(static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift));
}

void ExpressionMachine::binary(uint8_t opcode, uint64_t a, uint64_t b) {
  auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  switch (opcode) {
  case op_add:
    return push(a + b);
  case op_sub:
    return push(a - b);
  case op_mul:
    return push(a * b);
  case op_lsh:
    return push(b < 64 ? a << b : 0);
  case op_rsh_signed:
    return push(static_cast<uint64_t>(sa >> (b < 64 ? b : 63)));
  case op_rsh_unsigned:
    return push(b < 64 ? a >> b : 0);
  case op_bit_and:
    return push(a & b);
  case op_bit_or:
    return push(a | b);
  case op_bit_xor:
    return push(a ^ b);
  case op_equal:
    return push(a == b);
  case op_less_signed:
    return push(sa < sb);
  default:
    return push(a < b);
  }
}

void ExpressionMachine::divide(uint8_t opcode, uint64_t a, uint64_t b) {
  if (b == 0) return fail();
  auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  bool overflows = sa == INT64_MIN && sb == -1;
  switch (opcode) {
  case op_div_signed:
    return push(overflows ? a : static_cast<uint64_t>(sa / sb));
  case op_rem_signed:
    return push(overflows ? 0 : static_cast<uint64_t>(sa % sb));
  case op_div_unsigned:
    return push(a / b);
  default:
    return push(a % b);
  }
}

// Memory is the program's: little-endian.
void ExpressionMachine::dereference(size_t size) {
  std::array<std::byte, 8> bytes{};
  if (!context_.read(GuestAddr(pop()), std::span(bytes).first(size))) return fail();
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  push(value);
}

} // namespace

std::optional<int64_t> evaluate(std::span<const std::byte> code, AgentContext& context) {
  return ExpressionMachine(code, context).run();
}

bool condition_holds(std::span<const AgentBytecode> conditions, AgentContext& context) {
  if (conditions.empty()) return true;
  for (const AgentBytecode& condition : conditions) {
    auto value = evaluate(condition, context);
    if (!value || *value != 0) return true;
  }
  return false;
}

} // namespace rdb::gdb
