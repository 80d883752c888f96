// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which calls have returned, where a return address alone does not tell: recursion, threads, coroutines,
// calls that are abandoned or end in a jump; and that the fast path finds the same, or declines.
#include "rdbtool/debug/events/returns.h"
#include "tests/debug/fake_replay.h"

namespace rdb::debug {
namespace {

using Functions = std::vector<uint64_t>;

constexpr uint64_t kFirst = 0x1000, kSecond = 0x2000; // functions; nothing is read from there

class ReturnsTest : public testing::Test {
protected:
  ReturnsTest() : code_(replay_.map_code({0x90, 0x90})), stack_(replay_.map(8) + 7 * guest::kPage) {
    hook_.function = [](void*, void*, uint64_t) {};
  }

  // The function is entered, to return to the address with this stack pointer.
  void enter(uint64_t function, uint64_t sp, uint64_t back, int thread = 1) {
    stop_in(sp, back);
    returns_.expect(replay_.thread(thread), function);
  }
  bool enter_fast(uint64_t function, uint64_t sp, uint64_t back, int thread = 1) {
    stop_in(sp, back);
    return returns_.expect_fast(ThreadId(thread), replay_.engine.registers(), function);
  }
  void stop_in(uint64_t sp, uint64_t back) {
    replay_.sp() = sp - 8;
    FakeReplay::word(sp - 8) = back;
  }
  // The thread is at this address with this stack pointer.
  Functions arrive(uint64_t sp, uint64_t pc, int thread = 1) {
    replay_.sp() = sp;
    return returns_.arrive(replay_.thread(thread), pc);
  }
  bool arrive_fast(uint64_t sp, uint64_t pc, int thread = 1) {
    replay_.sp() = sp;
    return returns_.arrive_fast(ThreadId(thread), replay_.engine.registers(), pc);
  }

  FakeReplay replay_;
  engine::DirectHook hook_;
  Returns returns_{hook_};
  uint64_t code_; // where calls return to
  uint64_t stack_;
};

TEST_F(ReturnsTest, ACallReturnsOnce) {
  enter(kFirst, stack_, code_);
  EXPECT_EQ(arrive(stack_, code_), Functions{kFirst});
  EXPECT_EQ(arrive(stack_, code_), Functions());
}

TEST_F(ReturnsTest, TheEngineCallsAHookThere) {
  int calls = 0;
  Returns returns(
      {.function = [](void*, void* count, uint64_t) { ++*static_cast<int*>(count); }, .argument = &calls});
  stop_in(stack_, code_);
  returns.expect(replay_.thread(), kFirst);
  returns.expect(replay_.thread(), kSecond);
  replay_.pc() = code_;
  replay_.engine.run(2);
  EXPECT_EQ(calls, 1);
  returns.clear(replay_.engine);
  replay_.pc() = code_;
  replay_.engine.run(2);
  EXPECT_EQ(calls, 1);
}

TEST_F(ReturnsTest, RecursionReturnsFromTheInside) {
  for (uint64_t depth = 0; depth < 40; ++depth)
    enter(kFirst, stack_ - 32 * depth, code_);
  for (uint64_t depth = 40; depth-- > 0;)
    ASSERT_EQ(arrive(stack_ - 32 * depth, code_), Functions{kFirst}) << depth;
  EXPECT_EQ(arrive(stack_, code_), Functions());
}

TEST_F(ReturnsTest, AJumpToAnotherFunctionReturnsFromBoth) {
  enter(kFirst, stack_, code_);
  enter(kSecond, stack_, code_); // the last act of the first
  EXPECT_EQ(arrive(stack_, code_), (Functions{kFirst, kSecond}));
}

TEST_F(ReturnsTest, OneOfTheSameFunctionWithTheSameStackIsANewCall) {
  enter(kFirst, stack_, code_);
  enter(kFirst, stack_, code_);
  EXPECT_EQ(arrive(stack_, code_), Functions{kFirst});
}

TEST_F(ReturnsTest, ThreadsHaveCallsOfTheirOwn) {
  enter(kFirst, stack_, code_, 1);
  enter(kSecond, stack_ - 4096, code_, 2);
  EXPECT_EQ(arrive(stack_, code_, 2), Functions()); // above its own: it came by there, and that call is lost
  EXPECT_EQ(arrive(stack_, code_, 1), Functions{kFirst});
}

TEST_F(ReturnsTest, ComingByIsNotReturning) {
  enter(kFirst, stack_, code_);
  FakeReplay::word(stack_ - 8) = code_ + 1; // something else was called since
  EXPECT_EQ(arrive(stack_, code_), Functions());
}

TEST_F(ReturnsTest, ACallBelowAReturnWasAbandonedIfItsSlotIsOverwritten) {
  enter(kFirst, stack_, code_);
  enter(kSecond, stack_ - 64, code_);
  FakeReplay::word(stack_ - 72) = 5;
  EXPECT_EQ(arrive(stack_, code_), Functions{kFirst});
  FakeReplay::word(stack_ - 72) = code_;
  EXPECT_EQ(arrive(stack_ - 64, code_), Functions());
}

TEST_F(ReturnsTest, ACallOnAnotherStackGoesOnLater) {
  uint64_t coroutine = replay_.map(2) + guest::kPage;
  uint64_t low = std::min(coroutine, stack_), high = std::max(coroutine, stack_);
  enter(kFirst, low, code_);
  enter(kSecond, high, code_);
  EXPECT_EQ(arrive(high, code_), Functions{kSecond});
  EXPECT_EQ(arrive(low, code_), Functions{kFirst});
}

TEST_F(ReturnsTest, OnTheProgramsStackNothingBelowGoesOn) {
  replay_.space.name(stack_ - 7 * guest::kPage, stack_ + guest::kPage, "[stack]");
  enter(kFirst, stack_, code_);
  enter(kSecond, stack_ - 64, code_);
  EXPECT_EQ(arrive(stack_, code_), Functions{kFirst});
  EXPECT_EQ(arrive(stack_ - 64, code_), Functions());
}

TEST_F(ReturnsTest, AbandonedCallsDoNotReturn) {
  enter(kFirst, stack_, code_);
  enter(kSecond, stack_ - 64, code_);
  enter(kSecond, stack_ - 64, code_, 2);
  returns_.abandon(ThreadId(1), {stack_ - 128, stack_ - 64});
  EXPECT_EQ(arrive(stack_ - 64, code_, 1), Functions());
  EXPECT_EQ(arrive(stack_ - 64, code_, 2), Functions{kSecond});
  EXPECT_EQ(arrive(stack_, code_, 1), Functions{kFirst});
}

TEST_F(ReturnsTest, TheFastPathDeclinesWhatItDoesNotKnow) {
  EXPECT_FALSE(enter_fast(kFirst, stack_, code_)); // no hook there yet
  enter(kFirst, stack_, code_);
  EXPECT_EQ(arrive(stack_, code_), Functions{kFirst});
  EXPECT_TRUE(enter_fast(kFirst, stack_, code_));
  EXPECT_FALSE(enter_fast(kFirst, stack_, code_ + 1)); // nor there
  replay_.sp() = 0x1000;                               // where no memory is
  EXPECT_FALSE(returns_.expect_fast(ThreadId(1), replay_.engine.registers(), kFirst));
  returns_.clear(replay_.engine);
  EXPECT_FALSE(enter_fast(kFirst, stack_, code_));
}

TEST_F(ReturnsTest, TheFastPathDeclinesToAllocate) {
  enter(kFirst, stack_, code_);
  uint64_t depth = 1;
  while (enter_fast(kFirst, stack_ - 32 * depth, code_))
    ASSERT_LT(++depth, 1000u);
  EXPECT_GT(depth, 1u);
  enter(kFirst, stack_ - 32 * depth, code_);
  ++depth;
  EXPECT_TRUE(enter_fast(kFirst, stack_ - 32 * depth, code_));
  for (uint64_t i = depth + 1; i-- > 0;)
    ASSERT_TRUE(arrive_fast(stack_ - 32 * i, code_)) << i;
  EXPECT_FALSE(arrive_fast(stack_, code_));
}

TEST_F(ReturnsTest, TheFastPathTakesTheLastCallAndNoOther) {
  enter(kFirst, stack_, code_);
  EXPECT_EQ(returns_.last(code_), kFirst);
  EXPECT_EQ(returns_.last(code_ + 1), 0u);
  FakeReplay::word(stack_ - 16) = FakeReplay::word(stack_) = code_; // as if there were returns
  EXPECT_FALSE(arrive_fast(stack_ - 8, code_));
  EXPECT_FALSE(arrive_fast(stack_ + 8, code_));
  EXPECT_FALSE(arrive_fast(stack_, code_, 2));
  FakeReplay::word(stack_ - 8) = code_ + 1;
  EXPECT_FALSE(arrive_fast(stack_, code_));
  FakeReplay::word(stack_ - 8) = code_;
  EXPECT_TRUE(arrive_fast(stack_, code_));
  EXPECT_EQ(returns_.last(code_), 0u);
}

TEST_F(ReturnsTest, TheFastPathDeclinesWhereAnotherCallMayHaveReturned) {
  enter(kFirst, stack_, code_);
  EXPECT_FALSE(enter_fast(kFirst, stack_, code_));      // the older one was abandoned
  EXPECT_FALSE(enter_fast(kFirst, stack_ + 64, code_)); // likewise
  EXPECT_TRUE(enter_fast(kSecond, stack_, code_));      // a jump
  EXPECT_FALSE(arrive_fast(stack_, code_));
  EXPECT_EQ(arrive(stack_, code_), (Functions{kFirst, kSecond}));
}

} // namespace
} // namespace rdb::debug
