// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a debug function is left: by a jump to where it was called, with the reason and its stack.
#include "rdbtool/debug/debug_session.h"

#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <ucontext.h>

namespace rdb::debug {
namespace {

class AbortDebugCodeTest : public testing::Test {
protected:
  // Calls it as a runner does. True if it came to its end.
  [[gnu::noinline]] bool run(void (*code)()) {
    AbortPoint abort_point;
    if (__builtin_setjmp(abort_point.jump_buffer) == 0) {
      DebugSession::run.abort_point = &abort_point;
      ++DebugSession::run.number;
      code();
    }
    DebugSession::run.abort_point = nullptr;
    return !abort_point.taken;
  }
  std::string reason() const { return session_->last_abort.reason; }

  std::unique_ptr<DebugSession> session_ = std::make_unique<DebugSession>();
};

volatile bool gives_up = true;

[[gnu::noinline]] int give_up_deep_inside(int depth) {
  char frame[100];
  asm volatile("" : : "r"(frame) : "memory");
  if (depth > 0) return give_up_deep_inside(depth - 1) + 1;
  if (gives_up) abort_debug_code("it called exit()");
  return 0;
}

TEST_F(AbortDebugCodeTest, ToWhereItWasCalled) {
  EXPECT_TRUE(run([] {}));
  EXPECT_FALSE(run([] { give_up_deep_inside(10); }));
  EXPECT_EQ(reason(), "it called exit()");
  EXPECT_FALSE(run([] { abort_debug_code_at(nullptr, "signal {} at {:#x}", 11, 4096); }));
  EXPECT_EQ(reason(), "signal 11 at 0x1000");
  EXPECT_TRUE(run([] {}));
}

TEST_F(AbortDebugCodeTest, WithACopyOfTheStack) {
  EXPECT_FALSE(run([] { give_up_deep_inside(10); }));
  const CapturedStack& stack = session_->last_abort.stack;
  EXPECT_EQ(stack.stack_begin, stack.registers.gpr[engine::RSP]);
  EXPECT_GT(stack.stack.size(), 1000u); // the frames of ten calls
  EXPECT_LE(stack.stack.size(), sizeof(StackRoom));
}

TEST_F(AbortDebugCodeTest, ALongReasonIsCut) {
  EXPECT_FALSE(run([] { abort_debug_code(std::string(1000, 'x')); }));
  EXPECT_EQ(reason(), std::string(sizeof(LastAbort::reason) - 1, 'x'));
}

TEST_F(AbortDebugCodeTest, OnlyWhileDebugCodeRuns) {
  EXPECT_FALSE(can_abort_debug_code());
  EXPECT_TRUE(run([] { EXPECT_TRUE(can_abort_debug_code()); }));
  EXPECT_FALSE(can_abort_debug_code());
  session_.reset();
  EXPECT_FALSE(can_abort_debug_code());
  EXPECT_EQ(DebugSession::current(), nullptr);
}

TEST_F(AbortDebugCodeTest, ElseTheProcessEnds) {
  EXPECT_EXIT(abort_debug_code("a constructor called exit()"), testing::ExitedWithCode(125),
              "a constructor called exit\\(\\) \\(outside of any region\\)");
}

TEST_F(AbortDebugCodeTest, OutOfASignalHandler) {
  struct sigaction action = {}, before;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  action.sa_sigaction = [](int, siginfo_t*, void* context) { abort_debug_code("it crashed", context); };
  sigaction(SIGILL, &action, &before);
  EXPECT_FALSE(run([] { asm volatile("rdb_escape_test_crash: ud2" ::: "memory"); }));
  sigaction(SIGILL, &before, nullptr);
  EXPECT_EQ(reason(), "it crashed");
  uint64_t crash;
  asm("lea rdb_escape_test_crash(%%rip), %0" : "=r"(crash));
  EXPECT_EQ(session_->last_abort.stack.registers.rip, crash);
}

TEST_F(AbortDebugCodeTest, WhatAnExceptionSays) {
  try {
    throw std::runtime_error("no such file");
  } catch (...) {
    EXPECT_EQ(describe_exception("an exception"), "an exception: no such file");
  }
  try {
    throw 5;
  } catch (...) {
    EXPECT_EQ(describe_exception("an exception"), "an exception");
  }
}

TEST(ModuleCode, AddressesOfModules) {
  ModuleCode modules;
  const uint8_t first[16] = {}, second[16] = {};
  auto begin = [](const uint8_t* code) { return reinterpret_cast<uint64_t>(code); };
  EXPECT_FALSE(modules.contains(begin(first)));
  modules.add(first);
  modules.add(second);
  EXPECT_TRUE(modules.contains(begin(first)));
  EXPECT_TRUE(modules.contains(begin(first) + 15));
  EXPECT_TRUE(modules.contains(begin(second) + 15));
  modules.remove(first);
  EXPECT_FALSE(modules.contains(begin(first) + 8));
  EXPECT_TRUE(modules.contains(begin(second)));
}

} // namespace
} // namespace rdb::debug
