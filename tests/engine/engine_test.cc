// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host interface: exact stops, stops at addresses and accesses, faults; in every tier, with stepping as
// the oracle.
#include "rdbtool/engine/cpu.h"
#include "rdbtool/engine/instructions/operand.h"
#include "rdbtool/engine/store_log.h"
#include "tests/engine/engine_fixture.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <random>
#include <set>

namespace rdb::engine {
namespace {

TEST_P(EngineTest, stops_after_exactly_n_instructions_in_every_tier) {
  constexpr uint64_t kRounds = 400;
  std::mt19937_64 random(7);
  std::vector<uint64_t> limits;
  for (int i = 0; i < 60; ++i)
    limits.push_back(1 + random() % 12000);
  std::vector<Outcome> expected;
  {
    auto engine = make(Tier::step);
    for (uint64_t n : limits) {
      reset(*engine, rdb_test_code, kRounds);
      expected.push_back(run(*engine, n));
    }
  }
  for (Tier tier : {Tier::blocks, Tier::superblocks}) {
    auto engine = make(tier);
    // Hot from the first comparison on.
    reset(*engine, rdb_test_code, 5000);
    ASSERT_EQ(static_cast<int>(run(*engine, UINT64_MAX).reason), static_cast<int>(StopReason::system_call));
    if (tier == Tier::superblocks) {
      EXPECT_GT(engine->statistics().superblocks, 0u);
    }
    for (size_t i = 0; i < limits.size(); ++i) {
      reset(*engine, rdb_test_code, kRounds);
      expect_equal(expected[i], run(*engine, limits[i]), fmt::format("limit {}", limits[i]));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EngineTest, a_run_in_pieces_is_the_same_run) {
  auto engine = make(Tier::superblocks);
  reset(*engine, rdb_test_code, 2000);
  Outcome whole = run(*engine, UINT64_MAX);
  std::mt19937_64 random(8);
  reset(*engine, rdb_test_code, 2000);
  uint64_t before = engine->executed();
  Stop stop;
  do
    stop = engine->run(1 + random() % 3000);
  while (stop.reason == StopReason::limit);
  expect_equal(whole, outcome(*engine, stop.reason, engine->executed() - before), "in pieces");
}

TEST_P(EngineTest, stops_before_an_address_every_time) {
  constexpr uint64_t kRounds = 300;
  auto engine = make(Tier::superblocks);
  reset(*engine, rdb_test_code, kRounds);
  Outcome plain = run(*engine, UINT64_MAX);
  engine->add_stop(GuestAddr(code(rdb_test_function)));
  reset(*engine, rdb_test_code, kRounds);
  uint64_t before = engine->executed();
  uint64_t stops = 0;
  Stop stop;
  while ((stop = engine->run(UINT64_MAX)).reason == StopReason::address) {
    ++stops;
    ASSERT_EQ(engine->registers().rip, code(rdb_test_function));
  }
  EXPECT_EQ(stops, kRounds);
  expect_equal(plain, outcome(*engine, stop.reason, engine->executed() - before), "with stops");
  engine->remove_stop(GuestAddr(code(rdb_test_function)));
  reset(*engine, rdb_test_code, kRounds);
  expect_equal(plain, run(*engine, UINT64_MAX), "after they were removed");
}

TEST_P(EngineTest, stops_before_accesses_to_a_watched_range) {
  constexpr uint64_t kRounds = 300;
  auto engine = make(Tier::superblocks);
  reset(*engine, rdb_test_code, kRounds);
  Outcome plain = run(*engine, UINT64_MAX);
  const uint64_t begin = reinterpret_cast<uint64_t>(data_) + 0x800;
  engine->add_watch(GuestAddr(begin), 0x200, false, true);
  reset(*engine, rdb_test_code, kRounds);
  uint64_t before = engine->executed();
  uint64_t stops = 0;
  Stop stop;
  while ((stop = engine->run(UINT64_MAX)).reason == StopReason::access) {
    ++stops;
    ASSERT_TRUE(stop.access.write);
    ASSERT_GE(stop.access.address.value + stop.access.size, begin);
    ASSERT_LT(stop.access.address.value, begin + 0x200);
    // Not done yet: the value is still the old one.
    uint64_t old;
    std::memcpy(&old, reinterpret_cast<void*>(stop.access.address.value), 8);
    ASSERT_NE(old, engine->registers().gpr[RAX]);
  }
  EXPECT_GT(stops, 10u) << "an eighth of the stores should hit";
  expect_equal(plain, outcome(*engine, stop.reason, engine->executed() - before), "with watches");
}

// Everything that a run with watches tells: where it stops, and for what.
struct Touch {
  uint64_t executed, pc, address, size;
  bool write;
  bool operator==(const Touch&) const = default;
};

class WatchTest : public EngineTest {
protected:
  struct Set {
    const char* name;
    std::vector<WatchFilter::Watch> watches;
  };

  // Compares what is told in every tier.
  void compare(const std::vector<Set>& sets, const uint8_t* label, uint64_t rounds) {
    for (const Set& set : sets) {
      std::vector<Touch> expected;
      Outcome last;
      for (Tier tier : {Tier::step, Tier::blocks, Tier::superblocks}) {
        auto engine = make(tier);
        for (const WatchFilter::Watch& watch : set.watches)
          engine->add_watch(GuestAddr(watch.begin), watch.end - watch.begin, watch.reads, watch.writes);
        std::vector<Touch> found;
        reset(*engine, label, rounds);
        Stop stop;
        while ((stop = engine->run(UINT64_MAX)).reason == StopReason::access)
          found.push_back({engine->executed(), engine->registers().rip, stop.access.address.value,
                           stop.access.size, stop.access.write});
        Outcome end = outcome(*engine, stop.reason, engine->executed());
        ASSERT_EQ(static_cast<int>(stop.reason), static_cast<int>(StopReason::system_call)) << set.name;
        if (tier == Tier::step) {
          expected = found;
          last = end;
          continue;
        }
        ASSERT_EQ(expected.size(), found.size()) << set.name;
        EXPECT_TRUE(expected == found) << set.name;
        expect_equal(last, end, set.name);
      }
    }
  }

  std::vector<Set> random_sets() const {
    const auto data = reinterpret_cast<uint64_t>(data_);
    const auto stack = reinterpret_cast<uint64_t>(stack_) + 65536 - 64;
    std::mt19937_64 random(11);
    std::vector<Set> sets;
    for (int i = 0; i < 40; ++i) {
      Set set{"random", {}};
      for (uint64_t n = 1 + random() % 4; n > 0; --n) {
        uint64_t begin = random() % 4 == 0 ? stack - random() % 0x60 : data + random() % 0xB00;
        unsigned how = 1 + static_cast<unsigned>(random() % 3);
        set.watches.push_back({begin, begin + 1 + random() % 24, (how & 1) != 0, (how & 2) != 0});
      }
      sets.push_back(set);
    }
    return sets;
  }

  void expect_all_writes_told(const uint8_t* label, uint64_t rounds) {
    for (Tier tier : {Tier::step, Tier::blocks, Tier::superblocks}) {
      auto engine = make(tier);
      engine->add_watch(GuestAddr(reinterpret_cast<uint64_t>(data_)), 4096, false, true);
      engine->add_watch(GuestAddr(reinterpret_cast<uint64_t>(stack_)), 65536, false, true);
      reset(*engine, label, rounds);
      auto memory = [&] {
        std::vector<uint8_t> bytes(data_, data_ + 4096);
        bytes.insert(bytes.end(), stack_ + 65536 - 512, stack_ + 65536);
        return bytes;
      };
      auto index_of = [&](uint64_t address) {
        uint64_t in_data = address - reinterpret_cast<uint64_t>(data_);
        return in_data < 4096 ? in_data : 4096 + address - reinterpret_cast<uint64_t>(stack_ + 65536 - 512);
      };
      std::vector<uint8_t> before = memory();
      Stop stop;
      std::set<uint64_t> told; // indices
      do {
        stop = engine->run(UINT64_MAX);
        std::vector<uint8_t> now = memory();
        for (size_t i = 0; i < now.size(); ++i)
          ASSERT_TRUE(before[i] == now[i] || told.contains(i)) << i << " before " << engine->registers().rip;
        before = now;
        told.clear();
        // A scatter stops once for all its elements.
        uint64_t pc = engine->registers().rip;
        Instruction instruction;
        ASSERT_TRUE(decode(pc, reinterpret_cast<const uint8_t*>(pc), 15, instruction));
        for (const MemoryAccess& access : memory_accesses(instruction, *engine))
          for (uint64_t i = 0; access.write && i < access.size; ++i)
            told.insert(index_of(access.address + i));
      } while (stop.reason == StopReason::access);
      EXPECT_EQ(static_cast<int>(stop.reason), static_cast<int>(StopReason::system_call));
    }
  }
};

TEST_P(WatchTest, finds_the_same_accesses_in_every_tier) {
  constexpr uint64_t kRounds = 2000;
  const auto data = reinterpret_cast<uint64_t>(data_);
  const auto stack = reinterpret_cast<uint64_t>(stack_) + 65536 - 64;
  std::vector<Set> sets = {
      {"one byte", {{data + 0x805, data + 0x806, true, true}}},
      {"writes of four ranges",
       {{data + 8, data + 16, false, true},
        {data + 0x100, data + 0x104, false, true},
        {data + 0xff8, data + 0x1000, false, true},
        {data + 0x7fc, data + 0x804, false, true}}},
      {"reads of the stack", {{stack - 8, stack, true, false}}},
      {"a constant", {{code(rdb_test_constant) + 3, code(rdb_test_constant) + 4, true, false}}},
      {"nothing that is touched", {{data + 0x2000, data + 0x2008, true, true}}},
      {"many", {}},
  };
  for (uint64_t i = 0; i < 1000; ++i)
    sets.back().watches.push_back({data + 0x2000 + 0x1000 * i, data + 0x2001 + 0x1000 * i, true, true});
  sets.back().watches.push_back({data + 0x400, data + 0x408, true, true});
  compare(sets, rdb_test_code, kRounds);
}

// One question answers for several places where it can.
TEST_P(WatchTest, finds_the_same_accesses_of_loops_in_every_tier) {
  compare(random_sets(), rdb_test_strides, 6);
}

TEST_P(WatchTest, finds_the_same_accesses_of_wide_vectors_in_every_tier) {
  if (!cpu().avx512) GTEST_SKIP() << "this CPU has no AVX-512";
  compare(random_sets(), rdb_test_wide, 40);
}

// Each element that the mask chooses is an access.
TEST_P(WatchTest, gathers_are_told_by_element) {
  if (!cpu().avx) GTEST_SKIP() << "this CPU has no AVX";
  const auto data = reinterpret_cast<uint64_t>(data_);
  const uint64_t touched[] = {0x100, 0x108, 0x114, 0x218, 0x1E0};
  for (Tier tier : {Tier::step, Tier::blocks, Tier::superblocks})
    for (uint64_t offset = 0x80; offset < 0x300; offset += 4) {
      auto engine = make(tier);
      engine->add_watch(GuestAddr(data + offset), 4, true, false);
      reset(*engine, rdb_test_gathers, 1);
      Stop stop = engine->run(UINT64_MAX);
      bool expected = std::ranges::find(touched, offset) != std::end(touched);
      ASSERT_EQ(stop.reason == StopReason::access, expected) << offset;
      if (!expected) continue;
      EXPECT_EQ(stop.access.address.value, data + offset);
      EXPECT_EQ(stop.access.size, 4u);
    }
}

// No byte changes that was not told of before.
TEST_P(WatchTest, everything_that_is_written_is_told) {
  expect_all_writes_told(rdb_test_strides, 2);
}

TEST_P(WatchTest, everything_that_wide_vectors_write_is_told) {
  if (!cpu().avx512) GTEST_SKIP() << "this CPU has no AVX-512";
  expect_all_writes_told(rdb_test_wide, 40);
}

class StoreLogTest : public EngineTest {
protected:
  // Played backwards, the log gives the memory that was there before.
  void expect_undone(const uint8_t* label, uint64_t rounds) {
    for (Tier tier : {Tier::step, Tier::blocks, Tier::superblocks}) {
      auto engine = make(tier, {.log_stores = true});
      std::vector<StoreLogEntry> log(1 << 20);
      reset(*engine, label, rounds);
      std::vector<uint8_t> before = outcome(*engine, {}, 0).memory;
      engine->set_store_log(log);
      Stop stop = engine->run(100000);
      ASSERT_EQ(static_cast<int>(stop.reason), static_cast<int>(StopReason::system_call));
      EXPECT_NE(outcome(*engine, {}, 0).memory, before);
      for (const StoreLogEntry* entry = engine->store_log_end(); entry-- > log.data();)
        std::memcpy(reinterpret_cast<void*>(entry->address), &entry->old, entry->size);
      EXPECT_EQ(outcome(*engine, {}, 0).memory, before) << "tier " << static_cast<int>(tier);
    }
  }
};

TEST_P(StoreLogTest, all_stores_are_undone) {
  expect_undone(rdb_test_strides, 6);
}

TEST_P(StoreLogTest, stores_of_wide_vectors_are_undone) {
  if (!cpu().avx512) GTEST_SKIP() << "this CPU has no AVX-512";
  expect_undone(rdb_test_wide, 40);
}

// Also where the rest of a run is stepped.
TEST_P(WatchTest, a_hook_comes_before_the_access_of_its_instruction) {
  constexpr uint64_t kFirstStore = 5;
  const auto data = reinterpret_cast<uint64_t>(data_);
  for (Tier tier : {Tier::step, Tier::blocks, Tier::superblocks})
    for (uint64_t limit : {UINT64_MAX, uint64_t{20000}, uint64_t{300}, uint64_t{7}}) {
      auto engine = make(tier);
      engine->add_watch(GuestAddr(data + 0x100), 50, false, true);
      uint64_t hooked = 0, told = 0;
      auto count = [](void*, void* argument, uint64_t) { ++*static_cast<uint64_t*>(argument); };
      engine->add_hook(GuestAddr(code(rdb_test_strides) + kFirstStore),
                       {.function = count, .argument = &hooked});
      reset(*engine, rdb_test_strides, 6);
      Stop stop;
      do {
        stop = engine->run(limit);
        ASSERT_NE(static_cast<int>(stop.reason), static_cast<int>(StopReason::fault));
        bool here = engine->registers().rip == code(rdb_test_strides) + kFirstStore;
        if (stop.reason != StopReason::access || !here) continue;
        ASSERT_EQ(hooked, ++told) << "tier " << static_cast<int>(tier) << ", limit " << limit;
      } while (stop.reason != StopReason::system_call);
      EXPECT_EQ(told, 6u * 50);
    }
}

// A hook may begin to watch what the instruction behind it is about to touch, or one after that.
TEST_P(WatchTest, what_a_hook_watches_is_told_at_once) {
  const auto data = reinterpret_cast<uint64_t>(data_);
  constexpr uint64_t kFirstStore = 5;
  for (Tier tier : {Tier::step, Tier::blocks, Tier::superblocks}) {
    auto engine = make(tier);
    engine->add_watch(GuestAddr(data + 0x2000), 8, false, true);
    struct Context {
      Translator* engine;
      uint64_t address;
    } context{engine.get(), data + 0x100};
    auto begin = [](void*, void* argument, uint64_t) {
      auto& to = *static_cast<Context*>(argument);
      if (to.address != 0) to.engine->add_watch(GuestAddr(to.address), 1, false, true);
      to.address = 0;
    };
    engine->add_hook(GuestAddr(code(rdb_test_strides) + kFirstStore),
                     {.function = begin, .argument = &context});
    reset(*engine, rdb_test_strides, 6);
    uint64_t before = engine->executed();
    Stop stop = engine->run(UINT64_MAX);
    ASSERT_EQ(static_cast<int>(stop.reason), static_cast<int>(StopReason::access));
    EXPECT_EQ(engine->executed() - before, 2u);
    EXPECT_EQ(stop.access.address.value, data + 0x100);
  }
}

TEST_P(EngineTest, a_limit_before_an_access_does_not_hide_it) {
  auto engine = make(Tier::superblocks);
  const auto data = reinterpret_cast<uint64_t>(data_);
  reset(*engine, rdb_test_code, 300);
  engine->add_watch(GuestAddr(data), 4096, false, true);
  ASSERT_EQ(static_cast<int>(engine->run(UINT64_MAX).reason), static_cast<int>(StopReason::access));
  uint64_t at = engine->executed();
  engine = nullptr;
  engine = make(Tier::superblocks);
  reset(*engine, rdb_test_code, 300);
  engine->run(at);
  engine->add_watch(GuestAddr(data), 4096, false, true);
  EXPECT_EQ(static_cast<int>(engine->run(UINT64_MAX).reason), static_cast<int>(StopReason::access));
  EXPECT_EQ(engine->executed(), at);
}

bool fast_answer(void* context, Registers& registers, uint64_t executed) {
  auto& seen = *static_cast<std::vector<uint64_t>*>(context);
  if (seen.size() == 3) return false;
  seen.push_back(executed);
  registers.gpr[RAX] = 77;
  return true;
}

TEST_P(EngineTest, offers_system_calls_to_the_fast_function_first) {
  auto engine = make(Tier::superblocks);
  std::vector<uint64_t> seen;
  seen.reserve(4);
  engine->set_fast_syscall({&fast_answer, &seen});
  // The code falls through its system call into a function that returns: to the code again.
  reset(*engine, rdb_test_code, 5);
  Registers& regs = engine->registers();
  regs.gpr[RSP] -= 64;
  const uint64_t again = code(rdb_test_code);
  for (int i = 0; i < 8; ++i)
    std::memcpy(reinterpret_cast<void*>(regs.gpr[RSP] + 8u * static_cast<uint64_t>(i)), &again, 8);
  Stop stop = engine->run(UINT64_MAX);
  EXPECT_EQ(static_cast<int>(stop.reason), static_cast<int>(StopReason::system_call));
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_LT(seen[0], seen[1]);
  EXPECT_LT(seen[2], engine->executed());
  EXPECT_EQ(engine->statistics().fast_syscalls, 3u);
  EXPECT_EQ(regs.gpr[RCX], regs.rip);
}

TEST_P(EngineTest, faults_show_the_exact_state_at_every_instruction) {
  // One of the pointers is bad: each access faults in turn, in code that was executed often before.
  const std::array<Gpr, 6> pointers = {RDI, RSI, R8, R9, R10, R11};
  auto prepare = [&](Engine& engine, int bad, uint64_t rounds) {
    reset(engine, rdb_test_faults, 0);
    Registers& regs = engine.registers();
    regs.gpr[RCX] = rounds;
    for (int i = 0; i < 6; ++i)
      regs.gpr[pointers[static_cast<size_t>(i)]] =
          reinterpret_cast<uint64_t>(data_) + (i == bad ? 4096 : 64 * static_cast<uint64_t>(i));
    regs.gpr[RBX] = 0xFFFFFFFFFFFFFF80ull;
  };
  std::vector<Outcome> expected;
  {
    auto engine = make(Tier::step);
    for (int bad = 0; bad < 6; ++bad) {
      prepare(*engine, bad, 1);
      expected.push_back(run(*engine, UINT64_MAX));
      EXPECT_EQ(static_cast<int>(expected.back().reason), static_cast<int>(StopReason::fault));
    }
  }
  for (Tier tier : {Tier::blocks, Tier::superblocks}) {
    auto engine = make(tier);
    prepare(*engine, -1, 3000);
    run(*engine, UINT64_MAX);
    for (int bad = 0; bad < 6; ++bad) {
      prepare(*engine, bad, 1);
      expect_equal(expected[static_cast<size_t>(bad)], run(*engine, UINT64_MAX),
                   fmt::format("pointer {}", bad));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EngineTest, an_interrupt_ends_the_run) {
  auto engine = make(Tier::superblocks);
  reset(*engine, rdb_test_code, 1000);
  engine->interrupt(nullptr);
  EXPECT_EQ(static_cast<int>(engine->run(UINT64_MAX).reason), static_cast<int>(StopReason::interrupted));
  EXPECT_EQ(static_cast<int>(engine->run(UINT64_MAX).reason), static_cast<int>(StopReason::system_call));
}

std::string place_name(const testing::TestParamInfo<bool>& place) {
  return place.param ? "near" : "far";
}
INSTANTIATE_TEST_SUITE_P(Places, EngineTest, testing::Bool(), place_name);
INSTANTIATE_TEST_SUITE_P(Places, WatchTest, testing::Bool(), place_name);
INSTANTIATE_TEST_SUITE_P(Places, StoreLogTest, testing::Bool(), place_name);

} // namespace
} // namespace rdb::engine
