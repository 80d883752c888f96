// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call is answered from the list only if it is the one that was recorded, in every respect; otherwise
// nothing changes, and the long way has to say what is wrong.
#include "rdbtool/guest/calls/call_output.h"
#include "rdbtool/guest/memory/host_place.h"
#include "rdbtool/guest/process/state_hash.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "rdbtool/replay/answer_call_fast.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <vector>

namespace rdb::replay {
namespace {

class FastAnswersTest : public testing::Test {
protected:
  FastAnswersTest() : space_(guest::make_layout({guest::kNewestLayout, 1, false, guest::top_for_guest()})) {
    int64_t place = space_.mmap(0, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_GT(place, 0);
    memory_ = static_cast<uint64_t>(place);
    EXPECT_TRUE(space_.is_plain(memory_, 1));
    regs_.gpr[engine::RAX] = SYS_read;
    regs_.gpr[engine::RDI] = 3;
    regs_.gpr[engine::RSI] = memory_;
    regs_.gpr[engine::RDX] = bytes_.size();
    add(100, bytes_.size());
    answers_.space = &space_;
  }

  void add(uint64_t time, size_t size) {
    trace::LoggedCall call;
    call.time = Time(time);
    call.call.number = SYS_read;
    call.call.result = static_cast<int64_t>(size);
    call.call.hash = guest::hash_call(regs_);
    call.write = {GuestAddr(memory_), bytes_.data(), size};
    calls_.push_back(call);
  }

  bool offer(uint64_t executed) {
    answers_.next = calls_.data();
    answers_.end = calls_.data() + calls_.size();
    engine::FastSyscall fast = make_fast_syscall(answers_);
    return fast.function(fast.context, regs_, executed);
  }

  void expect_untouched() {
    EXPECT_EQ(regs_.gpr[engine::RAX], static_cast<uint64_t>(SYS_read));
    EXPECT_EQ(*reinterpret_cast<const char*>(memory_), 0);
    EXPECT_EQ(answers_.next, calls_.data());
  }

  guest::AddressSpace space_;
  uint64_t memory_ = 0;
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(1000, 'x');
  std::vector<trace::LoggedCall> calls_;
  FastAnswers answers_;
  engine::Registers regs_;
};

TEST_F(FastAnswersTest, the_recorded_call_is_answered) {
  ASSERT_TRUE(offer(100));
  EXPECT_EQ(regs_.gpr[engine::RAX], 1000u);
  EXPECT_EQ(0, std::memcmp(reinterpret_cast<void*>(memory_), bytes_.data(), 1000));
  EXPECT_EQ(reinterpret_cast<const char*>(memory_)[1000], 0);
  EXPECT_TRUE(answers_.empty());
}

TEST_F(FastAnswersTest, every_size_is_written_whole) {
  for (size_t size : {1, 7, 8, 15, 16, 17, 64, 999}) {
    std::memset(reinterpret_cast<void*>(memory_), 0, 1000);
    regs_.gpr[engine::RAX] = SYS_read;
    calls_.clear();
    add(100, size);
    ASSERT_TRUE(offer(100));
    EXPECT_EQ(reinterpret_cast<const char*>(memory_)[size - 1], 'x');
    EXPECT_EQ(reinterpret_cast<const char*>(memory_)[size], 0);
  }
}

TEST_F(FastAnswersTest, not_at_another_time) {
  EXPECT_FALSE(offer(99));
  EXPECT_FALSE(offer(101));
  expect_untouched();
}

TEST_F(FastAnswersTest, not_with_other_registers) {
  regs_.gpr[engine::R15] ^= 1;
  EXPECT_FALSE(offer(100));
  regs_.gpr[engine::R15] ^= 1;
  regs_.rflags ^= 1;
  EXPECT_FALSE(offer(100));
  expect_untouched();
}

TEST_F(FastAnswersTest, the_bytes_that_a_call_puts_out_are_compared) {
  std::memset(reinterpret_cast<void*>(memory_), 'x', 1000);
  regs_.gpr[engine::RAX] = SYS_write;
  regs_.gpr[engine::RSI] = memory_;
  regs_.gpr[engine::RDX] = 200;
  trace::SyscallInput write;
  write.number = SYS_write;
  write.result = 100;
  write.checks_data = true;
  write.hash = guest::join_hashes(guest::hash_call(regs_), guest::hash_plain_output(bytes_.data(), 100));
  calls_ = {{Time(100), write, {}}};
  auto* byte = reinterpret_cast<char*>(memory_);
  for (size_t place : {0, 1, 15, 16, 63, 64, 98, 99}) {
    byte[place] = 'y';
    EXPECT_FALSE(offer(100)) << place;
    byte[place] = 'x';
  }
  byte[100] = 'y'; // was not put out
  regs_.gpr[engine::RAX] = SYS_write;
  EXPECT_TRUE(offer(100));
  EXPECT_EQ(regs_.gpr[engine::RAX], 100u);
}

TEST_F(FastAnswersTest, not_where_writes_have_to_be_noticed) {
  ASSERT_EQ(space_.mprotect(memory_, 4096, PROT_READ), 0);
  EXPECT_FALSE(offer(100));
  expect_untouched();
}

TEST_F(FastAnswersTest, not_when_the_list_is_empty) {
  calls_.clear();
  EXPECT_FALSE(offer(100));
  expect_untouched();
}

TEST_F(FastAnswersTest, only_calls_that_concern_nothing_else) {
  trace::SyscallInput call;
  call.number = SYS_read;
  EXPECT_TRUE(can_answer_fast(call));
  call.output = trace::OutputStream::standard_output; // is shown
  EXPECT_FALSE(can_answer_fast(call));
  call.output = trace::OutputStream::none;
  call.result = guest::kNotStarted; // is made again
  EXPECT_FALSE(can_answer_fast(call));
  call.result = 0;
  for (uint32_t number :
       {SYS_mmap, SYS_munmap, SYS_mprotect, SYS_brk, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
        SYS_clone, SYS_execve, SYS_arch_prctl, SYS_exit_group, SYS_futex}) {
    call.number = number;
    EXPECT_FALSE(can_answer_fast(call)) << number;
  }
}

} // namespace
} // namespace rdb::replay
