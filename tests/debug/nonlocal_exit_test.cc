// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which calls a longjmp() abandons, from glibc's jump buffer.
#include "rdbtool/debug/events/nonlocal_exit.h"
#include "tests/debug/fake_replay.h"

#include <bit>
#include <csetjmp>

namespace rdb::debug {
namespace {

constexpr uint64_t kSecret = 0x0123456789ABCDEF;

class NonlocalExitTest : public testing::Test {
protected:
  NonlocalExitTest()
      : buffer_(replay_.map(1)), thread_block_(replay_.map(1)), stack_(replay_.map(2) + guest::kPage) {
    replay_.engine.registers().gpr[engine::RDI] = buffer_;
    replay_.engine.registers().fs_base = thread_block_;
    FakeReplay::word(thread_block_ + 0x30) = kSecret;
  }

  // The thread enters longjmp(), which goes to this stack pointer.
  std::optional<AbandonedCalls> jump(uint64_t from, uint64_t to) {
    FakeReplay::word(buffer_ + 48) = std::rotl(to ^ kSecret, 17);
    replay_.sp() = from;
    return abandoned_calls(replay_.thread());
  }

  FakeReplay replay_;
  uint64_t buffer_;
  uint64_t thread_block_;
  uint64_t stack_;
};

TEST_F(NonlocalExitTest, TheCallsBetween) {
  std::optional<AbandonedCalls> calls = jump(stack_ - 256, stack_);
  ASSERT_TRUE(calls);
  EXPECT_FALSE(calls->has(stack_ - 264));
  EXPECT_FALSE(calls->has(stack_ - 256)); // longjmp itself has not returned
  EXPECT_TRUE(calls->has(stack_ - 248));
  EXPECT_TRUE(calls->has(stack_));
  EXPECT_FALSE(calls->has(stack_ + 8));
}

TEST_F(NonlocalExitTest, NoneIfItGoesToAnotherStack) {
  uint64_t other = replay_.map(2) + guest::kPage;
  uint64_t low = std::min(other, stack_), high = std::max(other, stack_);
  // Two mappings, even if they are neighbours.
  replay_.space.mprotect(low & ~(guest::kPage - 1), guest::kPage, PROT_READ);
  EXPECT_FALSE(jump(low - 64, high));
  EXPECT_FALSE(jump(stack_, stack_ - 64)); // downwards
}

TEST_F(NonlocalExitTest, NoneIfTheBufferCannotBeRead) {
  // What can be read makes sense by itself.
  ASSERT_TRUE(jump(stack_ - 256, stack_));
  FakeReplay::word(thread_block_ + 0x30) = stack_;
  replay_.engine.registers().gpr[engine::RDI] = 0x1000;
  EXPECT_FALSE(abandoned_calls(replay_.thread()));
  replay_.engine.registers().gpr[engine::RDI] = buffer_;
  FakeReplay::word(buffer_ + 48) = std::rotl(stack_, 17);
  replay_.engine.registers().fs_base = 0x1000;
  EXPECT_FALSE(abandoned_calls(replay_.thread()));
}

// This process's own libc has filled the buffer.
TEST_F(NonlocalExitTest, TheBufferIsAsGlibcMakesIt) {
  jmp_buf here;
  if (setjmp(here) != 0) return;
  auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  asm volatile("rdfsbase %0" : "=r"(replay_.engine.registers().fs_base));
  replay_.engine.registers().gpr[engine::RDI] = reinterpret_cast<uint64_t>(&here);
  replay_.sp() = frame - (1u << 20);
  std::optional<AbandonedCalls> calls = abandoned_calls(replay_.thread());
  ASSERT_TRUE(calls);
  EXPECT_LE(calls->up_to, frame);
  EXPECT_GT(calls->up_to, frame - 65536);
}

TEST_F(NonlocalExitTest, AReturnLeavesItsAddress) {
  replay_.sp() = stack_;
  FakeReplay::word(stack_ - 8) = 0x1234;
  EXPECT_TRUE(has_just_returned(replay_.thread(), 0x1234));
  EXPECT_FALSE(has_just_returned(replay_.thread(), 0x1235));
  replay_.sp() = 0x1000; // where nothing can be read
  EXPECT_FALSE(has_just_returned(replay_.thread(), 0x1234));
}

} // namespace
} // namespace rdb::debug
