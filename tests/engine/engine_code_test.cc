// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code in all its shapes: every way to end a block, and code that changes.
#include "tests/engine/engine_fixture.h"

#include <cstdlib>
#include <fmt/format.h>
#include <random>
#include <ucontext.h>

namespace rdb::engine {
namespace {

class CodeTest : public EngineTest {};

TEST_P(CodeTest, flags_live_across_every_kind_of_block_end) {
  auto prepare = [&](Engine& engine, uint64_t start, uint64_t rounds) {
    reset(engine, rdb_test_ends, 1);
    engine.registers().gpr[RAX] = start;
    engine.registers().gpr[RBX] = rounds;
  };
  std::mt19937_64 random(9);
  std::vector<uint64_t> starts = {0, 1, UINT64_MAX, 1ull << 63};
  for (int i = 0; i < 20; ++i)
    starts.push_back(random());
  std::vector<Outcome> expected;
  {
    auto engine = make(Tier::step);
    for (uint64_t start : starts) {
      prepare(*engine, start, 40);
      expected.push_back(run(*engine, UINT64_MAX));
      ASSERT_EQ(static_cast<int>(expected.back().reason), static_cast<int>(StopReason::system_call));
    }
  }
  for (Tier tier : {Tier::blocks, Tier::superblocks}) {
    auto engine = make(tier);
    prepare(*engine, 5, 3000);
    run(*engine, UINT64_MAX);
    if (tier == Tier::superblocks) {
      EXPECT_GT(engine->statistics().superblocks, 10u);
    }
    for (size_t i = 0; i < starts.size(); ++i) {
      prepare(*engine, starts[i], 40);
      expect_equal(expected[i], run(*engine, UINT64_MAX), fmt::format("start {:#x}", starts[i]));
      if (HasFatalFailure()) return;
    }
    // And wherever it is stopped.
    prepare(*engine, starts[7], 40);
    uint64_t before = engine->executed();
    Stop stop;
    do
      stop = engine->run(1 + random() % 900);
    while (stop.reason == StopReason::limit);
    expect_equal(expected[7], outcome(*engine, stop.reason, engine->executed() - before), "in pieces");
  }
}

// Nobody tells the engine that code has changed: it has to see for itself.
TEST_P(CodeTest, code_that_changes_often_is_compared) {
  if (!GetParam()) return;
  memory_.watch = GuestMemory::CodeWatch::compare;
  uint8_t* patched = low_ + (rdb_test_function - rdb_test_code);
  while (std::memcmp(patched, "\x49\xFF\xC7", 3) != 0)
    ++patched;
  for (Tier tier : {Tier::step, Tier::blocks, Tier::superblocks}) {
    auto engine = make(tier);
    for (int i = 0; i < 20; ++i) {
      // "inc %r15", "dec %r15"
      patched[2] = i % 2 == 0 ? 0xC7 : 0xCF;
      reset(*engine, rdb_test_code, 200);
      Outcome end = run(*engine, UINT64_MAX);
      uint64_t start = 0x1111111111111111ull * R15;
      auto steps = static_cast<int64_t>(end.registers.gpr[R15] - start);
      ASSERT_EQ(steps > 0, i % 2 == 0) << "tier " << static_cast<int>(tier) << ", change " << i;
      ASSERT_GT(std::abs(steps), 20);
    }
  }
  patched[2] = 0xC7;
}

TEST_P(CodeTest, invalidated_code_is_translated_again) {
  if (!GetParam()) return; // the code of this program is read-only
  auto engine = make(Tier::superblocks);
  reset(*engine, rdb_test_code, 1000);
  Outcome before = run(*engine, UINT64_MAX);
  // "inc %r15" becomes "dec %r15"
  uint8_t* patched = low_ + (rdb_test_function - rdb_test_code);
  while (std::memcmp(patched, "\x49\xFF\xC7", 3) != 0)
    ++patched;
  patched[2] = 0xCF;
  engine->invalidate(GuestAddr(kLowCode), 4096);
  reset(*engine, rdb_test_code, 1000);
  Outcome after = run(*engine, UINT64_MAX);
  EXPECT_EQ(before.executed, after.executed);
  uint64_t start = 0x1111111111111111ull * R15;
  EXPECT_EQ(before.registers.gpr[R15] - start, start - after.registers.gpr[R15]);
  EXPECT_NE(before.registers.gpr[R15], start);
}

// The first call through a slot, at any time before and while the path that it is on becomes hot.
TEST_P(CodeTest, calls_are_bound_lazily) {
  if (!GetParam()) return; // the slot is in the code
  uint8_t* slot = low_ + (rdb_test_slot - rdb_test_code);
  uint64_t lazy = 0;
  std::memcpy(&lazy, slot, sizeof lazy);
  lazy += kLowCode;
  for (uint64_t first_call = 1; first_call <= 60; ++first_call) {
    std::vector<Outcome> outcomes;
    for (Tier tier : {Tier::step, Tier::blocks, Tier::superblocks}) {
      auto engine = make(tier);
      reset(*engine, rdb_test_lazy, 60);
      engine->registers().gpr[RBX] = first_call;
      std::memcpy(slot, &lazy, sizeof lazy);
      outcomes.push_back(run(*engine, UINT64_MAX));
      ASSERT_EQ(static_cast<int>(outcomes.back().reason), static_cast<int>(StopReason::system_call));
      expect_equal(outcomes[0], outcomes.back(), fmt::format("first call with {} rounds left", first_call));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(CodeTest, memory_stays_bounded_when_code_comes_and_goes) {
  if (!GetParam()) return;
  auto engine = make(Tier::superblocks);
  for (int i = 0; i < 4000; ++i) {
    reset(*engine, rdb_test_code, 3);
    ASSERT_EQ(static_cast<int>(run(*engine, UINT64_MAX).reason), static_cast<int>(StopReason::system_call));
    engine->invalidate(GuestAddr(kLowCode), 4096);
  }
  EXPECT_LT(engine->statistics().peak_cache_bytes, 8u << 20);
}

// How a fast hook may go about it; each time it leaves nothing of the host's vector registers as it was.
enum class Way : uint8_t { stays, leaves, traps, declines };

struct FastHookCase {
  Translator* engine;
  Way way;
  uint64_t calls = 0;
};
FastHookCase* g_case = nullptr;

void spoil_vectors() {
  asm volatile("pcmpeqd %%xmm0, %%xmm0; movaps %%xmm0, %%xmm3; movaps %%xmm0, %%xmm4; movaps %%xmm0, %%xmm15"
               :
               :
               : "xmm0", "xmm3", "xmm4", "xmm15");
  if (cpu().avx) asm volatile("vzeroall");
}

bool fast_hook(void*, void* argument, uint64_t) {
  auto& hook = *static_cast<FastHookCase*>(argument);
  EXPECT_TRUE(hook.engine->in_fast_hook());
  if (hook.way == Way::declines) return false;
  ++hook.calls;
  if (hook.way == Way::stays) return true;
  if (hook.way == Way::leaves) hook.engine->leave_fast_hook();
  if (hook.way == Way::traps) asm volatile("ud2");
  EXPECT_FALSE(hook.engine->in_fast_hook());
  spoil_vectors();
  return true;
}

void on_trap(int, siginfo_t*, void* context) {
  spoil_vectors();
  g_case->engine->leave_fast_hook(context);
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += 2; // ud2
}

TEST_P(CodeTest, fast_hooks_change_nothing) {
  constexpr uint64_t kRounds = 600;
  auto fill = [&](Engine& engine) {
    reset(engine, rdb_test_code, kRounds);
    std::vector<std::byte> image(engine.vector_size());
    for (size_t i = 160; i < 416; ++i)
      image[i] = static_cast<std::byte>(i * 7);
    uint64_t used = 2;
    if (cpu().avx) {
      used = 6;
      for (size_t i = 0; i < 256; ++i)
        image[cpu().component_offset[2] + i] = static_cast<std::byte>(i * 11 + 3);
    }
    const uint32_t mxcsr = 0x7FA0;
    std::memcpy(image.data() + 24, &mxcsr, sizeof mxcsr);
    std::memcpy(image.data() + 512, &used, sizeof used);
    engine.write_vectors(image);
  };
  struct sigaction action{};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGILL, &action, nullptr);
  Outcome expected;
  {
    auto engine = make(Tier::step);
    fill(*engine);
    expected = run(*engine, UINT64_MAX);
  }
  for (Tier tier : {Tier::step, Tier::blocks, Tier::superblocks})
    for (Way way : {Way::stays, Way::leaves, Way::traps, Way::declines}) {
      auto engine = make(tier);
      FastHookCase hook{engine.get(), way};
      g_case = &hook;
      auto slowly = [](void*, void* argument, uint64_t) {
        ++static_cast<FastHookCase*>(argument)->calls;
        spoil_vectors();
      };
      engine->add_hook(GuestAddr(code(rdb_test_function)),
                       {.function = slowly, .argument = &hook, .fast = fast_hook});
      fill(*engine);
      expect_equal(expected, run(*engine, UINT64_MAX),
                   fmt::format("tier {}, way {}", static_cast<int>(tier), static_cast<int>(way)));
      EXPECT_EQ(hook.calls, kRounds);
    }
  signal(SIGILL, SIG_DFL);
}

INSTANTIATE_TEST_SUITE_P(Places, CodeTest, testing::Bool(),
                         [](const auto& place) { return place.param ? "near" : "far"; });

} // namespace
} // namespace rdb::engine
