// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each opcode computes what gdb's manual says, and no bytecode, however wrong, does more than fail.
#include "rdbtool/gdb/protocol/agent_expression.h"

#include <cstring>
#include <gtest/gtest.h>
#include <initializer_list>
#include <random>

namespace rdb::gdb {
namespace {

struct SmallWorld : AgentContext {
  std::array<std::byte, 16> memory{};

  std::optional<uint64_t> register_value(unsigned number) override {
    if (number == 7) return 0x1008;
    if (number < 16) return 100 + number;
    return std::nullopt;
  }
  bool read(GuestAddr from, std::span<std::byte> to) override {
    if (from.value < 0x1000 || from.value + to.size() > 0x1010) return false;
    std::memcpy(to.data(), memory.data() + (from.value - 0x1000), to.size());
    return true;
  }
};

Bytes bytecode(std::initializer_list<int> values) {
  Bytes bytes;
  for (int value : values)
    bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::optional<int64_t> value_of(std::initializer_list<int> values) {
  SmallWorld world;
  for (int i = 0; i < 16; ++i)
    world.memory[static_cast<size_t>(i)] = static_cast<std::byte>(0xf0 + i);
  return evaluate(bytecode(values), world);
}

TEST(AgentExpression, Constants) {
  EXPECT_EQ(value_of({0x22, 0xff, 0x27}), 0xff);
  EXPECT_EQ(value_of({0x23, 0x12, 0x34, 0x27}), 0x1234);
  EXPECT_EQ(value_of({0x24, 0x80, 0, 0, 1, 0x27}), 0x80000001);
  EXPECT_EQ(value_of({0x25, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0x27}), -2);
}

TEST(AgentExpression, Arithmetic) {
  EXPECT_EQ(value_of({0x22, 7, 0x22, 3, 0x02, 0x27}), 10);
  EXPECT_EQ(value_of({0x22, 3, 0x22, 7, 0x03, 0x27}), -4);
  EXPECT_EQ(value_of({0x22, 3, 0x22, 7, 0x04, 0x27}), 21);
  // -7 / 2 and -7 % 2, signed.
  EXPECT_EQ(value_of({0x22, 0xf9, 0x16, 8, 0x22, 2, 0x05, 0x27}), -3);
  EXPECT_EQ(value_of({0x22, 0xf9, 0x16, 8, 0x22, 2, 0x07, 0x27}), -1);
  EXPECT_EQ(value_of({0x22, 9, 0x22, 2, 0x06, 0x27}), 4);
  EXPECT_EQ(value_of({0x22, 9, 0x22, 2, 0x08, 0x27}), 1);
  EXPECT_EQ(value_of({0x22, 1, 0x22, 4, 0x09, 0x27}), 16);
  EXPECT_EQ(value_of({0x22, 0x80, 0x16, 8, 0x22, 4, 0x0a, 0x27}), -8);
  EXPECT_EQ(value_of({0x22, 0x80, 0x22, 4, 0x0b, 0x27}), 8);
  EXPECT_EQ(value_of({0x22, 1, 0x22, 200, 0x09, 0x27}), 0);
}

TEST(AgentExpression, Comparisons) {
  EXPECT_EQ(value_of({0x22, 0, 0x0e, 0x27}), 1);
  EXPECT_EQ(value_of({0x22, 5, 0x22, 5, 0x13, 0x27}), 1);
  EXPECT_EQ(value_of({0x22, 0xff, 0x16, 8, 0x22, 1, 0x14, 0x27}), 1); // -1 < 1
  EXPECT_EQ(value_of({0x22, 0xff, 0x16, 8, 0x22, 1, 0x15, 0x27}), 0); // unsigned it is not
  EXPECT_EQ(value_of({0x22, 6, 0x22, 3, 0x0f, 0x27}), 2);
  EXPECT_EQ(value_of({0x22, 6, 0x22, 3, 0x10, 0x27}), 7);
  EXPECT_EQ(value_of({0x22, 6, 0x22, 3, 0x11, 0x27}), 5);
  EXPECT_EQ(value_of({0x22, 0, 0x12, 0x27}), -1);
}

TEST(AgentExpression, MemoryAndRegisters) {
  EXPECT_EQ(value_of({0x23, 0x10, 0x01, 0x17, 0x27}), 0xf1);
  EXPECT_EQ(value_of({0x23, 0x10, 0x00, 0x18, 0x27}), 0xf1f0);
  EXPECT_EQ(value_of({0x23, 0x10, 0x00, 0x19, 0x27}), 0xf3f2f1f0);
  EXPECT_EQ(value_of({0x23, 0x10, 0x08, 0x1a, 0x27}), static_cast<int64_t>(0xfffefdfcfbfaf9f8));
  EXPECT_EQ(value_of({0x23, 0x10, 0x09, 0x1a, 0x27}), std::nullopt);
  EXPECT_EQ(value_of({0x26, 0, 6, 0x27}), 106);
  EXPECT_EQ(value_of({0x26, 0, 16, 0x27}), std::nullopt);
}

// gdb 13 cuts the register that a variable is found by to the variable's width.
TEST(AgentExpression, BaseOfAFrame) {
  EXPECT_EQ(value_of({0x26, 0, 7, 0x16, 8, 0x22, 0xfc, 0x16, 8, 0x02, 0x17, 0x27}), 0xf4);
  EXPECT_EQ(value_of({0x26, 0, 7, 0x2a, 8, 0x22, 4, 0x03, 0x22, 1, 0x02, 0x17, 0x27}), 0xf5);
  EXPECT_EQ(value_of({0x26, 0, 7, 0x16, 8, 0x17, 0x27}), 0xf8);
  // A number that is meant.
  EXPECT_EQ(value_of({0x26, 0, 7, 0x16, 8, 0x27}), 8);
  EXPECT_EQ(value_of({0x26, 0, 7, 0x16, 8, 0x22, 4, 0x02, 0x27}), 12);
  EXPECT_EQ(value_of({0x26, 0, 7, 0x16, 8, 0x22, 4, 0x02, 0x22, 2, 0x04, 0x17, 0x27}), std::nullopt);
  EXPECT_EQ(value_of({0x26, 0, 7, 0x16, 8, 0x22}), std::nullopt);
}

TEST(AgentExpression, StackAndJumps) {
  EXPECT_EQ(value_of({0x22, 1, 0x22, 2, 0x2b, 0x27}), 1);                      // swap
  EXPECT_EQ(value_of({0x22, 1, 0x22, 2, 0x22, 3, 0x33, 0x27}), 2);             // rot
  EXPECT_EQ(value_of({0x22, 1, 0x22, 2, 0x22, 3, 0x32, 2, 0x27}), 1);          // pick
  EXPECT_EQ(value_of({0x22, 9, 0x22, 1, 0x29, 0x27}), 9);                      // pop
  EXPECT_EQ(value_of({0x22, 9, 0x28, 0x02, 0x27}), 18);                        // dup
  EXPECT_EQ(value_of({0x23, 0x12, 0x34, 0x2a, 8, 0x27}), 0x34);                // zero_ext
  EXPECT_EQ(value_of({0x22, 1, 0x20, 0, 8, 0x22, 5, 0x27, 0x22, 6, 0x27}), 6); // if_goto taken
  EXPECT_EQ(value_of({0x22, 0, 0x20, 0, 8, 0x22, 5, 0x27, 0x22, 6, 0x27}), 5); // and not
  EXPECT_EQ(value_of({0x21, 0, 6, 0x22, 5, 0x27, 0x22, 6, 0x27}), 6);          // goto
}

TEST(AgentExpression, NonsenseFails) {
  EXPECT_EQ(value_of({}), std::nullopt);
  EXPECT_EQ(value_of({0x27}), std::nullopt);
  EXPECT_EQ(value_of({0x02, 0x27}), std::nullopt);
  EXPECT_EQ(value_of({0x24, 1}), std::nullopt);
  EXPECT_EQ(value_of({0x22, 1, 0x22, 0, 0x05, 0x27}), std::nullopt);
  EXPECT_EQ(value_of({0x21, 0xff, 0xff}), std::nullopt);
  EXPECT_EQ(value_of({0x21, 0, 0}), std::nullopt);             // an endless loop
  EXPECT_EQ(value_of({0x22, 1, 0x21, 0, 0}), std::nullopt);    // an endless stack
  EXPECT_EQ(value_of({0x22, 1, 0x16, 0, 0x27}), std::nullopt); // ext of no bits
  EXPECT_EQ(value_of({0x22, 1, 0x16, 65, 0x27}), std::nullopt);
  EXPECT_EQ(value_of({0x22, 1, 0x32, 1, 0x27}), std::nullopt); // pick below the stack
  EXPECT_EQ(value_of({0x22, 1, 0x30, 0x27}), std::nullopt);    // tracepoints only
}

TEST(AgentExpression, MostNegativeByMinusOne) {
  EXPECT_EQ(value_of({0x22, 1, 0x22, 63, 0x09, 0x22, 0, 0x12, 0x05, 0x27}), INT64_MIN);
  EXPECT_EQ(value_of({0x22, 1, 0x22, 63, 0x09, 0x22, 0, 0x12, 0x07, 0x27}), 0);
}

TEST(AgentExpression, ConditionsStopIfOneHoldsOrCannotBeComputed) {
  SmallWorld world;
  Bytes no = bytecode({0x22, 0, 0x27}), yes = bytecode({0x22, 1, 0x27}), wrong = bytecode({0x02});
  EXPECT_TRUE(condition_holds({}, world));
  EXPECT_FALSE(condition_holds(std::vector{no, no}, world));
  EXPECT_TRUE(condition_holds(std::vector{no, yes}, world));
  EXPECT_TRUE(condition_holds(std::vector{no, wrong}, world));
}

TEST(AgentExpression, RandomBytecodeEnds) {
  std::mt19937 random(11);
  SmallWorld world;
  for (int round = 0; round < 20000; ++round) {
    Bytes code(random() % 24);
    for (std::byte& b : code)
      b = static_cast<std::byte>(random() % 0x35);
    evaluate(code, world);
  }
}

} // namespace
} // namespace rdb::gdb
