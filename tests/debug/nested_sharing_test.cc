// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Debug code that runs in the middle of a nested run calls functions of the program and writes to its memory:
// that is undone when it ends, and the run goes on as if it had not been.
#include "rdbtool/debug/debug_session.h"
#include "rdbtool/debug/isolation/nested_call.h"
#include "rdbtool/debug/nested/nested_run.h"
#include "rdbtool/guest/process/state_hash.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

extern "C" {
extern const uint8_t rdb_nested_code[], rdb_nested_code_end[], rdb_nested_back[];
extern const uint8_t rdb_nested_calls_rsi[], rdb_nested_sum[], rdb_nested_vectors[];
}

namespace rdb::debug {
namespace {

using enum engine::Gpr;

class NestedSharingTest : public testing::Test {
protected:
  NestedSharingTest()
      : session_(new DebugSession), machine_({.randomise = false}), guard_(session_->stray_stack) {
    guard_.attach(machine_.space(), Protect::off);
    calls_ = std::make_unique<NestedCalls>(*session_, machine_, guard_);
    run_ = std::make_unique<NestedRun>(calls_->nested_engine());
    code_ = map(PROT_READ | PROT_WRITE | PROT_EXEC);
    std::memcpy(reinterpret_cast<void*>(code_), rdb_nested_code,
                static_cast<size_t>(rdb_nested_code_end - rdb_nested_code));
    data_ = map(PROT_READ | PROT_WRITE);
    uint64_t stack = map(PROT_READ | PROT_WRITE);
    own_ = reinterpret_cast<uint64_t>(mmap(reinterpret_cast<void*>(guest::kOwnCodeBegin), guest::kPage,
                                           PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    calls_->nested_engine().set_own_code({own_, own_ + guest::kPage});
    engine::Registers& regs = machine_.registers();
    asm volatile("rdfsbase %0" : "=r"(regs.fs_base));
    asm volatile("rdgsbase %0" : "=r"(regs.gs_base));
    regs.gpr[RDI] = data_;
    regs.gpr[RSI] = own_;
    regs.gpr[RSP] = stack + 2048;
    regs.gpr[R12] = 12;
    const uint64_t back = place(rdb_nested_back);
    std::memcpy(reinterpret_cast<void*>(stack + 2048), &back, sizeof back);
    regs.rip = place(rdb_nested_calls_rsi);
    std::byte vector[32] = {std::byte{9}};
    machine_.translator().write_vector(9, vector);
    state_.take(machine_.translator());
  }
  ~NestedSharingTest() override {
    run_.reset();
    calls_.reset();
    munmap(reinterpret_cast<void*>(own_), guest::kPage);
  }

  uint64_t map(int protection) {
    int64_t begin = machine_.space().mmap(0, guest::kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_GT(begin, 0);
    return static_cast<uint64_t>(begin);
  }
  uint64_t place(const uint8_t* label) const {
    return code_ + static_cast<uint64_t>(label - rdb_nested_code);
  }
  uint64_t& word(uint64_t index) const { return reinterpret_cast<uint64_t*>(data_)[index]; }

  // What RegionRunner does around a region.
  void region(const std::function<void()>& code) {
    AbortPoint abort_point;
    calls_->begin_region();
    DebugSession::run.abort_point = &abort_point;
    code();
    DebugSession::run.abort_point = nullptr;
    calls_->end_region();
  }
  static uint64_t call(uint64_t function, uint64_t first, uint64_t second) {
    uint64_t arguments[8] = {};
    CallFrame frame{};
    frame.integer[0] = first;
    frame.integer[1] = second;
    frame.stack_arguments = arguments;
    run_nested_call(&frame, function);
    return frame.result[0];
  }

  std::unique_ptr<DebugSession> session_;
  guest::Machine machine_;
  WriteGuard guard_;
  std::unique_ptr<NestedCalls> calls_;
  std::unique_ptr<NestedRun> run_;
  NestedState state_;
  NestedRunOptions options_ = {.hashes_stores = true};
  uint64_t code_ = 0, data_ = 0, own_ = 0;
};

TEST_F(NestedSharingTest, regions_in_a_run_call_functions_of_the_program) {
  NestedResult quiet, found;
  run_->add_stub(own_, [&] {
    run_->registers().gpr[RAX] = 3;
    return true;
  });
  ASSERT_EQ(run_->run(state_, state_.registers.general.rip, options_, quiet), NestedOutcome::returned)
      << quiet.reason;
  const guest::MemoryHash memory = guest::hash_memory(machine_.space());
  const uint64_t mappings = guest::hash_mappings(machine_.space());
  int regions = 0;
  run_->add_stub(own_, [&] {
    run_->run_debug_code([&] {
      for (int i = 0; i < 2; ++i)
        region([&] {
          ++regions;
          EXPECT_EQ(word(0), 11u);
          NestedCalls::keep_for_debug_code(&word(3), 16);
          word(3) = 4;
          word(4) = 5;
          EXPECT_EQ(call(place(rdb_nested_sum), data_, 5), 20u);
          EXPECT_EQ(word(4), 20u);
          if (engine::cpu().avx) call(place(rdb_nested_vectors), data_, 0);
        });
    });
    run_->registers().gpr[RAX] = 3;
    return true;
  });
  ASSERT_EQ(run_->run(state_, state_.registers.general.rip, options_, found), NestedOutcome::returned)
      << found.reason;
  EXPECT_EQ(regions, 2);
  EXPECT_EQ(found.executed, quiet.executed);
  EXPECT_EQ(found.store_hash, quiet.store_hash);
  EXPECT_EQ(found.bytes, quiet.bytes);
  EXPECT_EQ(found.written, quiet.written);
  EXPECT_EQ(std::memcmp(&found.registers, &quiet.registers, sizeof quiet.registers), 0);
  EXPECT_TRUE(guest::hash_memory(machine_.space()) == memory);
  EXPECT_EQ(guest::hash_mappings(machine_.space()), mappings);
}

TEST_F(NestedSharingTest, regions_between_runs_are_undone_as_before) {
  NestedResult result;
  run_->add_stub(own_, [] { return true; });
  for (int i = 0; i < 3; ++i) {
    region([&] {
      NestedCalls::keep_for_debug_code(&word(0), 8);
      word(0) = 7;
      EXPECT_EQ(call(place(rdb_nested_sum), data_, 2), 7u);
    });
    EXPECT_EQ(word(0), 0u);
    EXPECT_EQ(run_->run(state_, state_.registers.general.rip, options_, result), NestedOutcome::returned);
    EXPECT_EQ(word(0), 0u);
  }
}

} // namespace
} // namespace rdb::debug
