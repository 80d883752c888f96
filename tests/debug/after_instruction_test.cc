// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When an instruction is over: at the next one, or where a call has returned in the same frame; and never, if
// a branch goes elsewhere or a call is abandoned.
#include "rdbtool/debug/regions/after_instruction.h"
#include "tests/debug/fake_replay.h"

namespace rdb::debug {
namespace {

using Over = std::vector<uint64_t>;

class AfterInstructionTest : public testing::Test {
protected:
  AfterInstructionTest() : stack_(replay_.map(4) + 3 * guest::kPage) { replay_.sp() = stack_; }

  // Where the engine really goes from this instruction.
  uint64_t next_pc(uint64_t pc) {
    replay_.pc() = pc;
    replay_.engine.run(1);
    return replay_.pc();
  }

  FakeReplay replay_;
  uint64_t stack_;
  AfterInstruction after_;
};

TEST_F(AfterInstructionTest, APlainInstructionIsOverAtTheNext) {
  uint64_t code = replay_.map_code({0x48, 0x89, 0xC3, 0x90}); // mov %rax, %rbx; nop
  EXPECT_FALSE(after_.waits());
  after_.expect(replay_.thread(), code);
  EXPECT_TRUE(after_.waits());
  EXPECT_EQ(after_.arrive(replay_.thread(), code), Over());
  EXPECT_EQ(after_.arrive(replay_.thread(), code + 3), Over{code});
  EXPECT_EQ(after_.arrive(replay_.thread(), code + 3), Over());
}

TEST_F(AfterInstructionTest, OnlyForTheThreadThatExecutesIt) {
  uint64_t code = replay_.map_code({0x90, 0x90});
  after_.expect(replay_.thread(1), code);
  EXPECT_EQ(after_.arrive(replay_.thread(2), code + 1), Over());
  EXPECT_EQ(after_.arrive(replay_.thread(1), code + 1), Over{code});
}

TEST_F(AfterInstructionTest, OneThatFaultedIsOverOnce) {
  uint64_t code = replay_.map_code({0x90, 0x90});
  after_.expect(replay_.thread(), code);
  after_.expect(replay_.thread(), code); // a handler has returned to it
  EXPECT_EQ(after_.arrive(replay_.thread(), code + 1), Over{code});
}

TEST_F(AfterInstructionTest, TheEngineCallsAHookThere) {
  uint64_t code = replay_.map_code({0x90, 0x90, 0x90, 0x90});
  Over over;
  replay_.at_hooks([&](uint64_t pc) {
    for (uint64_t instruction : after_.arrive(replay_.thread(), pc))
      over.push_back(instruction);
  });
  replay_.pc() = code;
  after_.expect(replay_.thread(), code + 1);
  replay_.engine.run(3);
  EXPECT_EQ(over, Over{code + 1});
}

TEST_F(AfterInstructionTest, NothingIsAfterAJump) {
  for (const std::vector<uint8_t>& jump :
       {std::vector<uint8_t>{0xEB, 0x10}, {0xE9, 0x10, 0, 0, 0}, {0xFF, 0xE0}, {0xC3}, {0xC2, 8, 0}}) {
    after_.expect(replay_.thread(), replay_.map_code(jump));
    EXPECT_FALSE(after_.waits()) << static_cast<int>(jump[0]);
  }
}

// The processor says whether a branch is taken.
TEST_F(AfterInstructionTest, BranchesFallThroughAsTheProcessorDoes) {
  constexpr uint64_t kFlags[] = {0x1, 0x4, 0x40, 0x80, 0x800}; // carry, parity, zero, sign, overflow
  for (uint8_t condition = 0; condition < 16; ++condition) {
    uint64_t code = replay_.map_code({static_cast<uint8_t>(0x70 + condition), 0x10});
    for (unsigned set = 0; set < 32; ++set) {
      replay_.engine.registers().rflags = 0x202;
      for (unsigned i = 0; i < 5; ++i)
        if (set >> i & 1) replay_.engine.registers().rflags |= kFlags[i];
      AfterInstruction after;
      after.expect(replay_.thread(), code);
      EXPECT_EQ(after.waits(), next_pc(code) == code + 2) << unsigned{condition} << " with " << set;
    }
  }
}

TEST_F(AfterInstructionTest, LoopsFallThroughAsTheProcessorDoes) {
  constexpr uint64_t kZero = 0x40;
  for (uint8_t opcode : {0xE0, 0xE1, 0xE2, 0xE3})
    for (bool short_counter : {false, true}) {
      std::vector<uint8_t> bytes = {opcode, 0x10};
      if (short_counter) bytes.insert(bytes.begin(), 0x67); // ecx
      uint64_t code = replay_.map_code(bytes);
      for (uint64_t count : {0ull, 1ull, 2ull, 0x100000000ull, 0x100000001ull})
        for (uint64_t zero : {uint64_t{0}, kZero}) {
          engine::Registers& regs = replay_.engine.registers();
          regs.gpr[engine::RCX] = count;
          regs.rflags = 0x202 | zero;
          AfterInstruction after;
          after.expect(replay_.thread(), code);
          EXPECT_EQ(after.waits(), next_pc(code) == code + bytes.size())
              << unsigned{opcode} << " with " << count << " and " << zero;
        }
    }
}

// call f; nop; f: ret
class AfterCallTest : public AfterInstructionTest {
protected:
  AfterCallTest() : call_(replay_.map_code({0xE8, 1, 0, 0, 0, 0x90, 0xC3})), back_(call_ + 5) {
    replay_.pc() = call_;
  }

  // The thread is where the call returns to, in the frame that it was called in or in one that is deeper.
  Over returned(uint64_t deeper = 0, int thread = 1) {
    replay_.sp() = stack_ - deeper;
    FakeReplay::word(replay_.sp() - 8) = back_;
    return after_.arrive(replay_.thread(thread), back_);
  }

  uint64_t call_;
  uint64_t back_;
};

TEST_F(AfterCallTest, ACallIsOverWhenItHasReturned) {
  Over over;
  replay_.at_hooks([&](uint64_t pc) { over = after_.arrive(replay_.thread(), pc); });
  after_.expect(replay_.thread(), call_);
  replay_.engine.run(3);
  EXPECT_EQ(over, Over{call_});
}

TEST_F(AfterCallTest, DeeperCallsOfTheSameInstructionComeFirst) {
  after_.expect(replay_.thread(), call_);
  replay_.sp() = stack_ - 64;
  after_.expect(replay_.thread(), call_);
  EXPECT_EQ(returned(64), Over{call_});
  EXPECT_EQ(returned(64), Over());
  EXPECT_EQ(returned(), Over{call_});
}

TEST_F(AfterCallTest, AnotherThreadsReturnIsNot) {
  after_.expect(replay_.thread(1), call_);
  EXPECT_EQ(returned(0, 2), Over());
  EXPECT_EQ(returned(0, 1), Over{call_});
}

TEST_F(AfterCallTest, ComingByIsNotReturning) {
  after_.expect(replay_.thread(), call_);
  FakeReplay::word(stack_ - 8) = back_ + 1; // something else was called since
  EXPECT_EQ(after_.arrive(replay_.thread(), back_), Over());
  EXPECT_EQ(returned(), Over()); // the call is over all the same
}

TEST_F(AfterCallTest, ACallWhoseFrameIsGoneIsNeverOver) {
  after_.expect(replay_.thread(), call_);
  replay_.sp() = stack_ + 32;
  FakeReplay::word(stack_ + 24) = back_;
  EXPECT_EQ(after_.arrive(replay_.thread(), back_), Over());
  EXPECT_EQ(returned(), Over());
}

TEST_F(AfterCallTest, LongjmpAbandonsIt) {
  uint64_t longjmp = replay_.map_code({0x90});
  uint64_t buffer = replay_.map(1), block = replay_.map(1);
  after_.add_nonlocal_exit(longjmp);
  after_.expect(replay_.thread(), call_);
  // In a deeper frame: goes to the frame of the call. The thread's secret is 0.
  engine::Registers& regs = replay_.engine.registers();
  regs.gpr[engine::RDI] = buffer;
  regs.fs_base = block;
  FakeReplay::word(buffer + 48) = std::rotl(stack_, 17);
  replay_.sp() = stack_ - 128;
  EXPECT_EQ(after_.arrive(replay_.thread(), longjmp), Over());
  EXPECT_EQ(returned(), Over());
}

} // namespace
} // namespace rdb::debug
