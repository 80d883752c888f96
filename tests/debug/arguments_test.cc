// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What debug functions are given: expressions of the descriptors, and every class of argument.
#include "rdbtool/debug/regions/arguments.h"
#include "rdbtool/debug/regions/fast_arguments.h"
#include "tests/debug/fake_replay.h"

namespace rdb::debug {
namespace {

using descriptors::Address;
using descriptors::Argument;
using descriptors::Class;
using descriptors::Op;
using descriptors::Part;
using descriptors::Step;

constexpr uint64_t kBias = 0x100000;
constexpr uint64_t kMinimum = 1ull << 63;
constexpr descriptors::Register kRbx = 3, kRsp = 7; // of DWARF

uint64_t negative(uint64_t value) {
  return -value;
}

class ArgumentsTest : public testing::Test {
protected:
  ArgumentsTest() : memory_(replay_.map(1)) {
    replay_.engine.registers().gpr[engine::RBX] = memory_;
    for (uint64_t i = 0; i < 64; ++i)
      FakeReplay::word(memory_ + 8 * i) = 0x8182838485868788 + i;
  }

  ArgumentSource source(uint64_t tls_block = 0) { return {replay_.engine, replay_.space, kBias, tls_block}; }
  std::optional<uint64_t> value(const std::vector<Step>& steps) { return evaluate(steps, source()); }
  std::optional<uint64_t> binary(Op op, uint64_t left, uint64_t right) {
    return value({{Op::push_constant, left}, {Op::push_constant, right}, {op}});
  }
  std::optional<uint64_t> unary(Op op, uint64_t operand, uint64_t of = 0) {
    return value({{Op::push_constant, operand}, {op, of}});
  }
  // The address that the debug function is given; null: `reason_` says why not.
  void* find(const Argument& argument, uint64_t tls_block = 0) {
    buffer_.reset();
    return locate(argument, source(tls_block), buffer_, reason_);
  }
  uint64_t find_word(const Argument& argument) {
    void* found = find(argument);
    return found != nullptr ? *static_cast<uint64_t*>(found) : 0;
  }
  static Argument whole(const Part& part) { return {.size = part.size, .align = 8, .parts = {part}}; }

  FakeReplay replay_;
  uint64_t memory_;
  ArgumentBuffer buffer_;
  std::string reason_;
};

TEST_F(ArgumentsTest, ValuesOfExpressions) {
  EXPECT_EQ(value({{Op::push_constant, 7}}), 7u);
  EXPECT_EQ(value({{Op::push_register, kRbx}}), memory_);
  EXPECT_EQ(value({{.op = Op::push_address, .address = Address::absolute(0x4000)}}), 0x4000 + kBias);
  EXPECT_EQ(value({{Op::push_register, kRbx}, {Op::push_constant, 8}, {Op::add}, {Op::load, 8}}),
            0x8182838485868789u);
  EXPECT_EQ(value({{Op::push_register, kRbx}, {Op::load, 1}}), 0x88u);
  EXPECT_EQ(value({{Op::push_register, kRbx}, {Op::load, 2}}), 0x8788u);
  EXPECT_EQ(value({{Op::push_register, kRbx}, {Op::load, 4}}), 0x85868788u);
  EXPECT_EQ(value({{Op::push_constant, 1}, {Op::push_constant, 2}}), 2u); // the top of the stack
}

TEST_F(ArgumentsTest, UnaryOperators) {
  EXPECT_EQ(unary(Op::neg, 5), negative(5));
  EXPECT_EQ(unary(Op::bit_not, 0xF0), ~0xF0ull);
  EXPECT_EQ(unary(Op::sign_extend, 0x1280, 8), negative(0x80));
  EXPECT_EQ(unary(Op::sign_extend, 0x127F, 8), 0x7Fu);
  EXPECT_EQ(unary(Op::sign_extend, 0x80000000, 32), negative(0x80000000));
  EXPECT_EQ(unary(Op::zero_extend, 0x1280, 8), 0x80u);
  EXPECT_EQ(unary(Op::zero_extend, ~0ull, 32), 0xFFFFFFFFu);
}

TEST_F(ArgumentsTest, BinaryOperators) {
  EXPECT_EQ(binary(Op::add, 3, 4), 7u);
  EXPECT_EQ(binary(Op::sub, 3, 4), negative(1));
  EXPECT_EQ(binary(Op::mul, negative(3), 4), negative(12));
  EXPECT_EQ(binary(Op::div, negative(12), 5), negative(2));      // signed
  EXPECT_EQ(binary(Op::mod, negative(12), 5), negative(12) % 5); // unsigned
  EXPECT_EQ(binary(Op::mod, negative(1), negative(1)), 0u);
  EXPECT_EQ(binary(Op::bit_and, 0xFF0, 0x0FF), 0x0F0u);
  EXPECT_EQ(binary(Op::bit_or, 0xF00, 0x00F), 0xF0Fu);
  EXPECT_EQ(binary(Op::bit_xor, 0xFF0, 0x0FF), 0xF0Fu);
  EXPECT_EQ(binary(Op::shl, 3, 4), 48u);
  EXPECT_EQ(binary(Op::shl, 3, 64), 0u);
  EXPECT_EQ(binary(Op::shr, kMinimum, 63), 1u);
  EXPECT_EQ(binary(Op::shr, kMinimum, 64), 0u);
  EXPECT_EQ(binary(Op::sar, kMinimum, 62), negative(2));
  EXPECT_EQ(binary(Op::sar, kMinimum, 1000), ~0ull);
}

TEST_F(ArgumentsTest, ComparisonsAreSigned) {
  struct Case {
    Op op;
    bool less, equal, greater;
  };
  for (const Case& c :
       {Case{Op::eq, false, true, false}, Case{Op::ne, true, false, true}, Case{Op::lt, true, false, false},
        Case{Op::le, true, true, false}, Case{Op::gt, false, false, true}, Case{Op::ge, false, true, true}}) {
    EXPECT_EQ(binary(c.op, negative(1), 1), uint64_t{c.less}) << static_cast<int>(c.op);
    EXPECT_EQ(binary(c.op, negative(1), negative(1)), uint64_t{c.equal}) << static_cast<int>(c.op);
    EXPECT_EQ(binary(c.op, 1, negative(1)), uint64_t{c.greater}) << static_cast<int>(c.op);
  }
}

TEST_F(ArgumentsTest, ExpressionsWithoutAValue) {
  EXPECT_EQ(value({}), std::nullopt);
  EXPECT_EQ(value({{Op::neg}}), std::nullopt);
  EXPECT_EQ(value({{Op::push_constant, 1}, {Op::add}}), std::nullopt);
  EXPECT_EQ(binary(Op::div, 1, 0), std::nullopt);
  EXPECT_EQ(binary(Op::div, kMinimum, negative(1)), std::nullopt);
  EXPECT_EQ(binary(Op::mod, 1, 0), std::nullopt);
  EXPECT_EQ(unary(Op::load, 0x1000, 8), std::nullopt);  // nothing is mapped there
  EXPECT_EQ(unary(Op::load, memory_, 9), std::nullopt); // wider than a value
  // Also if what is computed from it is not needed.
  EXPECT_EQ(value({{Op::push_constant, 1}, {Op::push_constant, 0}, {Op::div}, {Op::push_constant, 2}}),
            std::nullopt);
}

TEST_F(ArgumentsTest, GeneralRegistersByTheirDwarfNumber) {
  engine::Registers regs;
  for (uint64_t i = 0; i < 16; ++i)
    regs.gpr[i] = 100 + i;
  regs.rip = 1;
  regs.rflags = 2;
  regs.fs_base = 3;
  regs.gs_base = 4;
  EXPECT_EQ(general_register(regs, 0), 100u + engine::RAX);
  EXPECT_EQ(general_register(regs, 1), 100u + engine::RDX);
  EXPECT_EQ(general_register(regs, kRsp), 100u + engine::RSP);
  EXPECT_EQ(general_register(regs, 15), 115u);
  EXPECT_EQ(general_register(regs, 16), 1u);
  EXPECT_EQ(general_register(regs, 49), 2u);
  EXPECT_EQ(general_register(regs, 58), 3u);
  EXPECT_EQ(general_register(regs, 59), 4u);
  EXPECT_EQ(general_register(regs, 200), 0u);
}

TEST_F(ArgumentsTest, WhatIsInMemoryIsGivenByItsAddress) {
  auto at = [](uint64_t address) { return reinterpret_cast<void*>(address); };
  EXPECT_EQ(find(whole({.size = 4, .cls = Class::stack, .reg = kRbx, .reg_offset = -8})), at(memory_ - 8));
  EXPECT_EQ(find(whole({.size = 4, .cls = Class::global, .address = Address::absolute(0x500)})),
            at(kBias + 0x500));
  Argument tls = whole({.size = 4, .cls = Class::tls, .address = Address::absolute(0x20)});
  EXPECT_EQ(find(tls, memory_), at(memory_ + 0x20));
  EXPECT_EQ(find(tls, 0), nullptr);
  EXPECT_EQ(reason_, "its address cannot be computed");
  EXPECT_EQ(find(whole({.size = 4, .cls = Class::address, .steps = {{Op::push_constant, 0x77}}})), at(0x77));
  EXPECT_EQ(find(whole({.size = 4, .cls = Class::address, .steps = {{Op::add}}})), nullptr);
}

TEST_F(ArgumentsTest, WhatIsNotIsCopied) {
  EXPECT_EQ(find_word(whole({.size = 8, .cls = Class::in_register, .reg = kRbx})), memory_);
  EXPECT_EQ(find_word(whole({.size = 8, .cls = Class::constant, .bytes = "12345678"})), 0x3837363534333231u);
  EXPECT_EQ(find_word(whole({.size = 8, .cls = Class::value, .steps = {{Op::push_constant, 5}}})), 5u);
  EXPECT_EQ(find(whole({.size = 8, .cls = Class::value, .steps = {{Op::bit_not}}})), nullptr);
  EXPECT_EQ(reason_, "its expression cannot be computed");
  EXPECT_EQ(find(whole({.size = 9, .cls = Class::in_register, .reg = kRbx})), nullptr);
  EXPECT_EQ(reason_, "wider than its register");
  EXPECT_EQ(find(whole({.size = 8, .cls = Class::unavailable, .reason = "optimised out"})), nullptr);
  EXPECT_EQ(reason_, "optimised out");
}

TEST_F(ArgumentsTest, VectorRegisters) {
  std::byte bytes[32];
  for (size_t i = 0; i < 32; ++i)
    bytes[i] = static_cast<std::byte>(i + 1);
  replay_.engine.write_vector(5, bytes);
  void* found = find(whole({.size = 16, .cls = Class::in_register, .reg = 17 + 5}));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(std::memcmp(found, bytes, 16), 0);
}

TEST_F(ArgumentsTest, SeveralPartsArePutTogether) {
  Argument argument{.size = 24,
                    .align = 64,
                    .parts = {{.offset = 0, .size = 8, .cls = Class::in_register, .reg = kRbx},
                              {.offset = 8, .size = 8, .cls = Class::stack, .reg = kRbx, .reg_offset = 16},
                              {.offset = 16, .size = 8, .cls = Class::unread}}};
  buffer_.reset();
  std::memset(buffer_.take(64, 64), 0x55, 64); // of an earlier region
  auto* words = static_cast<uint64_t*>(find(argument));
  ASSERT_NE(words, nullptr);
  EXPECT_EQ(words[0], memory_);
  EXPECT_EQ(words[1], FakeReplay::word(memory_ + 16));
  EXPECT_EQ(words[2], 0u);
  argument.parts[1].reg_offset = 1 << 30; // where nothing can be read
  EXPECT_EQ(find(argument), nullptr);
  EXPECT_EQ(reason_, "its memory cannot be read");
}

TEST_F(ArgumentsTest, TheBufferKeepsValuesApart) {
  buffer_.reset();
  std::byte* first = buffer_.take(1, 16);
  std::byte* second = buffer_.take(8, 16);
  EXPECT_EQ(second - first, 16);
  buffer_.reset();
  EXPECT_EQ(buffer_.take(1, 16), first);
}

// Arguments that need no look at the descriptors are what they are with one.
TEST_F(ArgumentsTest, FastArgumentsAreTheSame) {
  const Argument stack = whole({.size = 4, .cls = Class::stack, .reg = kRbx, .reg_offset = 24});
  const Argument in_register = whole({.size = 8, .cls = Class::in_register, .reg = kRbx});
  const Argument global = whole({.size = 4, .cls = Class::global, .address = Address::absolute(0x500)});
  const Argument constant = whole({.size = 4, .cls = Class::constant, .bytes = "1234"});
  const Argument* all[] = {&stack, &in_register, &global, &constant};
  auto fast = fast_arguments(all, replay_.engine.registers(), kBias);
  ASSERT_TRUE(fast);
  ASSERT_EQ(fast->size(), 4u);
  // Registers are looked at when the argument is fetched.
  replay_.engine.registers().gpr[engine::RBX] = memory_ + 8;
  EXPECT_EQ((*fast)[0].fetch(), find(stack));
  EXPECT_EQ(*static_cast<uint64_t*>((*fast)[1].fetch()), memory_ + 8);
  EXPECT_EQ((*fast)[2].fetch(), find(global));
  EXPECT_EQ(*static_cast<uint64_t*>((*fast)[3].fetch()), 0x34333231u);
}

TEST_F(ArgumentsTest, OthersAreNotFast) {
  auto is_fast = [&](const Argument& argument) {
    const Argument* one[] = {&argument};
    return fast_arguments(one, replay_.engine.registers(), kBias).has_value();
  };
  EXPECT_TRUE(is_fast(whole({.size = 8, .cls = Class::in_register, .reg = kRbx})));
  EXPECT_FALSE(is_fast(whole({.size = 16, .cls = Class::in_register, .reg = 17}))); // a vector register
  EXPECT_FALSE(is_fast(whole({.size = 9, .cls = Class::in_register, .reg = kRbx})));
  EXPECT_FALSE(is_fast(whole({.offset = 4, .size = 4, .cls = Class::in_register, .reg = kRbx})));
  EXPECT_FALSE(is_fast(whole({.size = 9, .cls = Class::constant, .bytes = "123456789"})));
  EXPECT_FALSE(is_fast(whole({.size = 8, .cls = Class::stack, .reg = 16})));
  EXPECT_FALSE(is_fast(whole({.size = 8, .cls = Class::tls})));
  EXPECT_FALSE(is_fast(whole({.size = 8, .cls = Class::value, .steps = {{Op::push_constant, 5}}})));
  EXPECT_FALSE(is_fast(whole({.size = 8, .cls = Class::unavailable})));
  const Part half{.size = 8, .cls = Class::in_register, .reg = kRbx};
  EXPECT_FALSE(is_fast({.size = 8, .parts = {half, half}}));
  const Argument* missing[] = {nullptr};
  EXPECT_FALSE(fast_arguments(missing, replay_.engine.registers(), kBias));
  EXPECT_TRUE(fast_arguments({}, replay_.engine.registers(), kBias));
}

} // namespace
} // namespace rdb::debug
