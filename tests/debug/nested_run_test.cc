// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function that is run once more tells what it would do, and leaves nothing behind.
#include "rdbtool/debug/nested/nested_run.h"

#include "rdbtool/guest/memory/layout.h"
#include "rdbtool/guest/process/state_hash.h"
#include "rdbtool/guest/signals/host_signals.h"
#include "tests/debug/fake_replay.h"

#include <chrono>
#include <cmath>
#include <sys/syscall.h>

extern "C" {
extern const uint8_t rdb_nested_code[], rdb_nested_code_end[], rdb_nested_back[];
extern const uint8_t rdb_nested_sum[], rdb_nested_fib[], rdb_nested_tail[], rdb_nested_vectors[];
extern const uint8_t rdb_nested_long_double[], rdb_nested_syscall[], rdb_nested_rdtsc[], rdb_nested_cpuid[];
extern const uint8_t rdb_nested_fault[], rdb_nested_endless[], rdb_nested_deep[], rdb_nested_reads[];
extern const uint8_t rdb_nested_strings[], rdb_nested_calls_rsi[], rdb_nested_jumps_rsi[];
extern const uint8_t rdb_nested_changes_code[], rdb_nested_flags[], rdb_nested_callee[], rdb_nested_calls[];
extern const uint8_t rdb_nested_store_rsi[], rdb_nested_fills[], rdb_nested_segments[], rdb_nested_small[];
extern const uint8_t rdb_nested_leaves[];
}

namespace rdb::debug {
namespace {

using engine::StopReason;
using enum engine::Gpr;

constexpr uint64_t kDataPages = 64;
constexpr uint64_t kStackPages = 16;

class NestedRunTest : public testing::Test, private guest::SignalReceiver {
protected:
  explicit NestedRunTest(Logged logged = Logged::stores) : nested_(replay_.space, logged), run_(nested_) {
    guest::install_host_signals(replay_.engine, *this);
    replay_.space.on_code_change(
        [this](GuestAddr begin, uint64_t size) { replay_.engine.invalidate(begin, size); });
    code_ = replay_.map(2, PROT_READ | PROT_WRITE | PROT_EXEC);
    std::memcpy(reinterpret_cast<void*>(code_), rdb_nested_code,
                static_cast<size_t>(rdb_nested_code_end - rdb_nested_code));
    data_ = replay_.map(kDataPages);
    for (uint64_t i = 0; i < 1024; ++i)
      word(i) = i * 0x9E3779B97F4A7C15;
    stack_ = replay_.map(kStackPages);
    replay_.sp() = stack_ + kStackPages * guest::kPage - 4096;
    std::memset(reinterpret_cast<void*>(replay_.sp() - 4096), 0x5C, 8192);
    regs().gpr[RDI] = data_;
    for (int i = R8; i <= R15; ++i)
      regs().gpr[i] = 0x1111111111111111u * static_cast<uint64_t>(i);
    std::vector<std::byte> image(replay_.engine.vector_size());
    const uint32_t mxcsr = 0x1F80;
    std::memcpy(image.data() + 24, &mxcsr, sizeof mxcsr);
    replay_.engine.write_vectors(image);
    for (size_t i = 0; i < 16; ++i) {
      float values[8] = {1.5F * static_cast<float>(i), 2, 3, 4, 5, 6, 7, 8};
      replay_.engine.write_vector(i, reinterpret_cast<std::byte*>(values));
    }
  }

  void on_fault(int signal, siginfo_t* info, void* context) override {
    if (!replay_.engine.handle_signal(signal, info, context))
      guest::report_host_fault(signal, info, context, replay_.pc(), 0);
  }
  void on_asynchronous(int, siginfo_t*, void*) override {}

  uint64_t place(const uint8_t* label) const {
    return code_ + static_cast<uint64_t>(label - rdb_nested_code);
  }
  engine::Registers& regs() { return replay_.engine.registers(); }
  uint64_t& word(uint64_t index) const { return FakeReplay::word(data_ + 8 * index); }

  // The guest comes to the function's first instruction.
  void call(const uint8_t* function) {
    replay_.sp() -= 8;
    FakeReplay::word(replay_.sp()) = place(rdb_nested_back);
    replay_.pc() = place(function);
  }

  // All that must not change.
  struct Everything {
    guest::MemoryHash memory;
    uint64_t mappings;
    std::vector<std::byte> vectors;
    uint64_t registers[16 + 5];
    bool operator==(const Everything&) const = default;
  };
  Everything everything() {
    Everything all{guest::hash_memory(replay_.space), guest::hash_mappings(replay_.space), {}, {}};
    all.vectors.resize(replay_.engine.vector_size());
    replay_.engine.read_vectors(all.vectors);
    static_assert(sizeof all.registers == sizeof(engine::Registers));
    std::memcpy(all.registers, &regs(), sizeof all.registers);
    return all;
  }

  // Runs the function that the guest has come to, and sees to it that nothing has changed.
  NestedOutcome run() {
    const Everything before = everything();
    state_.take(replay_.engine);
    uint64_t fs, fs_after;
    asm volatile("rdfsbase %0" : "=r"(fs));
    run_.run(state_, replay_.pc(), options_, result_);
    asm volatile("rdfsbase %0" : "=r"(fs_after));
    EXPECT_EQ(fs, fs_after);
    EXPECT_TRUE(everything() == before);
    return result_.outcome;
  }

  // The same by the guest itself, to the end of the function; how many instructions that took.
  uint64_t run_guest() {
    const uint64_t begin = replay_.engine.executed();
    const uint64_t sp = replay_.sp() + 8;
    replay_.engine.add_stop(GuestAddr(place(rdb_nested_back)));
    engine::Stop stop;
    do {
      stop = replay_.engine.run(UINT64_MAX);
      if (stop.reason == StopReason::fault &&
          !replay_.space.release_code_page(GuestAddr(reinterpret_cast<uint64_t>(stop.fault.info.si_addr))))
        break;
    } while (stop.reason == StopReason::fault);
    EXPECT_EQ(static_cast<int>(stop.reason), static_cast<int>(StopReason::address));
    EXPECT_EQ(replay_.sp(), sp);
    return replay_.engine.executed() - begin;
  }

  // What the run has told is what the guest does then.
  void expect_repeated(const uint8_t* function) {
    call(function);
    options_.keeps_dead_stack = true;
    ASSERT_EQ(run(), NestedOutcome::returned) << result_.reason;
    const std::vector<uint8_t> data = copy(data_, kDataPages), stack = copy(stack_, kStackPages);
    EXPECT_EQ(run_guest(), result_.executed);
    for (int i = 0; i < 16; ++i)
      EXPECT_EQ(regs().gpr[i], result_.registers.gpr[i]) << "register " << i;
    EXPECT_EQ(regs().rflags, result_.registers.rflags);
    for (size_t i = 0; i < 2; ++i) {
      std::byte vector[32];
      replay_.engine.read_vector(i, vector);
      EXPECT_EQ(std::memcmp(vector, result_.vector[i], sizeof vector), 0) << "vector " << i;
    }
    // Every byte that has changed is told, and those that are told are what is there.
    ByteSet told;
    size_t at = 0;
    for (const ByteRange& range : result_.written) {
      told.add(range.begin, range.size());
      EXPECT_EQ(std::memcmp(reinterpret_cast<void*>(range.begin), result_.bytes.data() + at, range.size()), 0)
          << range.size() << " bytes at " << range.begin - data_;
      at += range.size();
    }
    EXPECT_EQ(at, result_.bytes.size());
    expect_told(told, data_, data);
    expect_told(told, stack_, stack);
  }

  static std::vector<uint8_t> copy(uint64_t begin, uint64_t pages) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(begin);
    return {bytes, bytes + pages * guest::kPage};
  }
  static void expect_told(ByteSet& told, uint64_t begin, const std::vector<uint8_t>& before) {
    for (size_t i = 0; i < before.size(); ++i) {
      const bool changed = *reinterpret_cast<const uint8_t*>(begin + i) != before[i];
      ASSERT_TRUE(!changed || told.contains(begin + i)) << i;
    }
  }

  FakeReplay replay_;
  NestedEngine nested_;
  NestedRun run_;
  NestedState state_;
  NestedRunOptions options_;
  NestedResult result_;
  uint64_t code_ = 0, data_ = 0, stack_ = 0;
};

TEST_F(NestedRunTest, a_leaf) {
  expect_repeated(rdb_nested_small);
}

TEST_F(NestedRunTest, loops_and_writes_below_the_stack_pointer) {
  regs().gpr[RSI] = 500;
  expect_repeated(rdb_nested_sum);
}

TEST_F(NestedRunTest, recursion) {
  regs().gpr[RSI] = 15;
  expect_repeated(rdb_nested_fib);
  EXPECT_EQ(result_.registers.gpr[RAX], 610u);
}

TEST_F(NestedRunTest, jumps_to_another_function_at_its_end) {
  expect_repeated(rdb_nested_tail);
  EXPECT_EQ(result_.registers.gpr[RAX], 77u);
}

TEST_F(NestedRunTest, vectors_and_rounding) {
  if (!engine::cpu().avx) GTEST_SKIP() << "this CPU has no AVX";
  expect_repeated(rdb_nested_vectors);
}

TEST_F(NestedRunTest, string_instructions) {
  expect_repeated(rdb_nested_strings);
}

TEST_F(NestedRunTest, code_that_changes) {
  for (int i = 0; i < 3; ++i) {
    expect_repeated(rdb_nested_changes_code);
    // Back to what it was.
    EXPECT_EQ(word(1), 9u);
    const uint32_t eight = 8;
    replay_.space.write(GuestAddr(place(rdb_nested_code_end) - 5), &eight, sizeof eight);
  }
}

TEST_F(NestedRunTest, many_calls) {
  regs().gpr[RSI] = 20000;
  expect_repeated(rdb_nested_calls);
}

// In slices, with the log gone through in between.
TEST_F(NestedRunTest, long_runs) {
  regs().gpr[RSI] = 25;
  expect_repeated(rdb_nested_fib);
  EXPECT_GT(result_.executed, 1'000'000u);
  EXPECT_LT(result_.written.size(), 20u);
}

TEST_F(NestedRunTest, x87) {
  long double value = 1.25L;
  std::memcpy(reinterpret_cast<void*>(data_), &value, 10);
  const uint16_t control = 0x27F;
  std::memcpy(reinterpret_cast<void*>(data_ + 48), &control, sizeof control);
  // While the guest has not used it yet, and when it has.
  for (int i = 0; i < 3; ++i) {
    call(rdb_nested_long_double);
    ASSERT_EQ(run(), NestedOutcome::returned);
    EXPECT_EQ(replay_.engine.uses_x87(), i > 0);
    ASSERT_TRUE(result_.x87.has[0]);
    EXPECT_EQ(result_.x87.has[1], i > 0);
    long double returned = 0;
    std::memcpy(&returned, result_.x87.value[0], 10);
    EXPECT_EQ(returned, 2.5L);
    run_guest();
  }
  clear_x87();
}

TEST_F(NestedRunTest, flags) {
  const uint64_t usual = 0x202;
  for (uint64_t flags : {usual, usual | 0x8D5, usual | 0x400, usual | 1, usual | 0x200000}) {
    regs().rflags = flags;
    call(rdb_nested_flags);
    ASSERT_EQ(run(), NestedOutcome::returned);
    ASSERT_EQ(result_.written.size(), 1u);
    uint64_t found;
    std::memcpy(&found, result_.bytes.data(), sizeof found);
    EXPECT_EQ(found & ~0x200000u, flags & ~0x200000u);
    EXPECT_EQ(result_.registers.rflags & 0x400, 0x400u);
    replay_.sp() += 8;
  }
}

TEST_F(NestedRunTest, segment_bases) {
  uint64_t gs, after;
  asm volatile("rdgsbase %0" : "=r"(gs));
  regs().gs_base = 0x45000;
  for (int i = 0; i < 2; ++i) {
    call(rdb_nested_segments);
    ASSERT_EQ(run(), NestedOutcome::returned);
    uint64_t found[2];
    std::memcpy(found, result_.bytes.data(), sizeof found);
    EXPECT_EQ(found[0], 0x45000u);
    EXPECT_EQ(found[1], regs().fs_base);
    EXPECT_EQ(result_.registers.gs_base, 0x123000u);
    asm volatile("rdgsbase %0" : "=r"(after));
    EXPECT_EQ(after, gs);
    replay_.sp() += 8;
  }
}

TEST_F(NestedRunTest, what_comes_from_outside_ends_it) {
  call(rdb_nested_syscall);
  EXPECT_EQ(run(), NestedOutcome::system_call);
  EXPECT_EQ(result_.reason, "getpid");
  EXPECT_EQ(result_.executed, 3u);
  call(rdb_nested_rdtsc);
  EXPECT_EQ(run(), NestedOutcome::input);
  EXPECT_EQ(result_.reason, "rdtsc");
  EXPECT_EQ(result_.executed, 1u);
}

TEST_F(NestedRunTest, cpuid_is_answered) {
  call(rdb_nested_cpuid);
  EXPECT_EQ(run(), NestedOutcome::returned);
  EXPECT_EQ(result_.answered, 1u);
  EXPECT_EQ(result_.executed, 6u);
}

TEST_F(NestedRunTest, faults_end_it) {
  call(rdb_nested_fault);
  regs().gpr[RSI] = 8;
  EXPECT_EQ(run(), NestedOutcome::fault);
  EXPECT_EQ(result_.executed, 1u);
  EXPECT_NE(result_.reason.find("signal 11"), std::string::npos) << result_.reason;
  // A store to memory that can only be read.
  call(rdb_nested_store_rsi);
  regs().gpr[RSI] = replay_.map(1, PROT_READ);
  EXPECT_EQ(run(), NestedOutcome::fault);
  // A jump to nowhere.
  call(rdb_nested_jumps_rsi);
  regs().gpr[RSI] = 0x1234;
  EXPECT_EQ(run(), NestedOutcome::fault);
  // And it goes on as usual.
  call(rdb_nested_small);
  EXPECT_EQ(run(), NestedOutcome::returned);
}

TEST_F(NestedRunTest, a_stack_that_would_grow_ends_it) {
  const uint64_t size = 16 * guest::kPage;
  int64_t begin =
      replay_.space.mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);
  ASSERT_GT(begin, 0);
  replay_.sp() = static_cast<uint64_t>(begin) + size - 64;
  call(rdb_nested_deep);
  EXPECT_EQ(run(), NestedOutcome::stack_growth) << result_.reason;
  replay_.space.munmap(static_cast<uint64_t>(begin), size);
}

TEST_F(NestedRunTest, a_jump_out_of_it_is_not_its_end) {
  call(rdb_nested_leaves);
  EXPECT_EQ(run(), NestedOutcome::left);
  EXPECT_EQ(result_.reason, "getpid");
}

TEST_F(NestedRunTest, limits_end_it) {
  call(rdb_nested_endless);
  for (uint64_t limit : {1u, 255u, 1000u, 100000u}) {
    options_.limit = limit;
    EXPECT_EQ(run(), NestedOutcome::limit);
    EXPECT_EQ(result_.executed, limit);
  }
}

TEST_F(NestedRunTest, memory_of_rdbs_ends_it) {
  auto own = std::make_unique<uint64_t>(5);
  call(rdb_nested_store_rsi);
  regs().gpr[RSI] = reinterpret_cast<uint64_t>(own.get());
  EXPECT_EQ(run(), NestedOutcome::host_memory);
  EXPECT_EQ(*own, 5u);
}

TEST_F(NestedRunTest, the_dead_stack_is_left_out) {
  regs().gpr[RSI] = 10;
  call(rdb_nested_sum);
  ASSERT_EQ(run(), NestedOutcome::returned);
  EXPECT_EQ(result_.written, (std::vector<ByteRange>{{data_, data_ + 80}}));
}

TEST_F(NestedRunTest, single_stores_and_their_hash) {
  options_.keeps_stores = options_.hashes_stores = true;
  if (!engine::cpu().avx) GTEST_SKIP() << "this CPU has no AVX";
  call(rdb_nested_vectors);
  ASSERT_EQ(run(), NestedOutcome::returned);
  ASSERT_EQ(result_.stores.size(), 3u);
  EXPECT_EQ(result_.stores[0].address, data_ + 32);
  EXPECT_EQ(result_.stores[0].size, 32u);
  EXPECT_EQ(result_.stores[2].size, 4u);
  const uint64_t hash = result_.store_hash;
  ASSERT_EQ(run(), NestedOutcome::returned);
  EXPECT_EQ(result_.store_hash, hash);
  *reinterpret_cast<float*>(data_) += 1;
  ASSERT_EQ(run(), NestedOutcome::returned);
  EXPECT_NE(result_.store_hash, hash);
}

TEST_F(NestedRunTest, entries_are_told) {
  run_.watch(place(rdb_nested_callee));
  run_.watch(place(rdb_nested_calls));
  regs().gpr[RSI] = 3;
  call(rdb_nested_calls);
  ASSERT_EQ(run(), NestedOutcome::returned);
  ASSERT_EQ(result_.entries.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    const NestedEntry& entry = result_.entries[i];
    EXPECT_EQ(entry.address, place(rdb_nested_callee));
    EXPECT_EQ(entry.offset, 5 + i * 8);
    EXPECT_EQ(entry.integer[0], data_);
    EXPECT_EQ(entry.integer[2], 3 - i);
    double converted;
    std::memcpy(&converted, &entry.vector[2], sizeof converted);
    EXPECT_EQ(converted, static_cast<double>(3 - i));
  }
  const uint64_t executed = result_.executed;
  EXPECT_EQ(run_guest(), executed);
  options_.most_entries = 2;
  call(rdb_nested_calls);
  EXPECT_EQ(run(), NestedOutcome::limit);
}

class LoggedLoadsTest : public NestedRunTest {
protected:
  LoggedLoadsTest() : NestedRunTest(Logged::loads_too) {}
  // Without the stack.
  std::vector<ByteRange> read_from_data() const {
    std::vector<ByteRange> result;
    for (const ByteRange& range : result_.read_first)
      if (range.begin >= data_ && range.end <= data_ + kDataPages * guest::kPage)
        result.push_back({range.begin - data_, range.end - data_});
    return result;
  }
};

TEST_F(LoggedLoadsTest, what_is_read_before_it_is_written) {
  expect_repeated(rdb_nested_reads);
  EXPECT_EQ(read_from_data(), (std::vector<ByteRange>{{0, 8}, {16, 20}, {40, 42}}));
  // The return address.
  EXPECT_EQ(result_.read_first.size(), 4u);
}

TEST_F(LoggedLoadsTest, strings_and_long_runs) {
  expect_repeated(rdb_nested_strings);
  EXPECT_EQ(read_from_data(), (std::vector<ByteRange>{{256, 356}}));
  regs().gpr[RDI] = data_;
  regs().gpr[RSI] = 1000;
  expect_repeated(rdb_nested_sum);
  EXPECT_EQ(read_from_data(), (std::vector<ByteRange>{{0, 8000}}));
  regs().gpr[RSI] = 24;
  expect_repeated(rdb_nested_fib);
  EXPECT_EQ(result_.read_first.size(), 1u); // the return address
}

// Code that the guest does not have.
class OwnCodeTest : public NestedRunTest {
protected:
  static constexpr uint64_t kSize = 2 * guest::kPage;
  OwnCodeTest() {
    own_ = reinterpret_cast<uint64_t>(mmap(reinterpret_cast<void*>(guest::kOwnCodeBegin), kSize,
                                           PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    EXPECT_EQ(own_, guest::kOwnCodeBegin);
    std::memcpy(reinterpret_cast<void*>(own_), rdb_nested_code,
                static_cast<size_t>(rdb_nested_code_end - rdb_nested_code));
    nested_.set_own_code({own_, own_ + kSize});
  }
  ~OwnCodeTest() override { munmap(reinterpret_cast<void*>(own_), kSize); }
  uint64_t twin(const uint8_t* label) const { return own_ + static_cast<uint64_t>(label - rdb_nested_code); }
  NestedOutcome run_twin(const uint8_t* function) {
    const guest::MemoryHash before = guest::hash_memory(replay_.space);
    const std::vector<uint8_t> own = copy(own_, 2);
    state_.take(replay_.engine);
    run_.run(state_, twin(function), options_, result_);
    EXPECT_TRUE(guest::hash_memory(replay_.space) == before);
    EXPECT_EQ(copy(own_, 2), own);
    return result_.outcome;
  }

  uint64_t own_ = 0;
};

TEST_F(OwnCodeTest, runs_in_the_place_of_the_guests) {
  call(rdb_nested_tail);
  ASSERT_EQ(run_twin(rdb_nested_tail), NestedOutcome::returned) << result_.reason;
  EXPECT_EQ(result_.registers.gpr[RAX], 77u);
  EXPECT_EQ(result_.written, (std::vector<ByteRange>{{data_, data_ + 24}}));
}

TEST_F(OwnCodeTest, what_is_written_there_is_undone_and_not_told) {
  call(rdb_nested_small);
  regs().gpr[RSI] = own_ + guest::kPage;
  ASSERT_EQ(run_twin(rdb_nested_store_rsi), NestedOutcome::returned) << result_.reason;
  EXPECT_EQ(result_.written, (std::vector<ByteRange>{{data_, data_ + 8}}));
}

TEST_F(OwnCodeTest, stubs_act_in_place_of_code) {
  const uint64_t stub = own_ + kSize - 16;
  int calls = 0;
  run_.add_stub(stub, [&] {
    ++calls;
    EXPECT_EQ(run_.registers().gpr[RDI], data_);
    EXPECT_EQ(word(0), 11u);
    EXPECT_EQ(run_.executed(), 7u);
    run_.registers().gpr[RAX] = 0x1234;
    return true;
  });
  call(rdb_nested_small);
  regs().gpr[RSI] = stub;
  ASSERT_EQ(run_twin(rdb_nested_calls_rsi), NestedOutcome::returned) << result_.reason;
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(result_.executed, 13u);
  uint64_t written[3];
  ASSERT_EQ(result_.bytes.size(), sizeof written);
  std::memcpy(written, result_.bytes.data(), sizeof written);
  EXPECT_EQ(written[1], 0x1234u);
}

TEST_F(OwnCodeTest, stubs_refuse_and_throw) {
  const uint64_t stub = own_ + kSize - 16, other = stub + 1, last = stub + 2;
  run_.add_stub(stub, [&] {
    run_.refuse("nobody has this function");
    return true;
  });
  run_.add_stub(other, []() -> bool { throw std::runtime_error("oh"); });
  run_.add_stub(last, [&] {
    run_.registers().gpr[RAX] = 21;
    return true;
  });
  call(rdb_nested_small);
  regs().gpr[RSI] = stub;
  EXPECT_EQ(run_twin(rdb_nested_calls_rsi), NestedOutcome::refused);
  EXPECT_EQ(result_.reason, "nobody has this function");
  regs().gpr[RSI] = other;
  EXPECT_THROW(run_twin(rdb_nested_calls_rsi), std::runtime_error);
  EXPECT_FALSE(run_.is_active());
  // Called as the last thing.
  regs().gpr[RSI] = last;
  EXPECT_EQ(run_twin(rdb_nested_jumps_rsi), NestedOutcome::returned);
  EXPECT_EQ(result_.registers.gpr[RAX], 21u);
  EXPECT_EQ(word(0), 0u);
}

// Of a function of the program, for which the host answers at times.
TEST_F(OwnCodeTest, stubs_let_the_code_run) {
  bool acts = false;
  run_.add_stub(place(rdb_nested_callee), [&] {
    if (acts) run_.registers().gpr[RAX] = 5;
    return acts;
  });
  call(rdb_nested_calls);
  regs().gpr[RSI] = 3;
  ASSERT_EQ(run(), NestedOutcome::returned);
  EXPECT_EQ(result_.registers.gpr[RAX], 77u);
  EXPECT_EQ(result_.executed, 2 + 3 * 8 + 2u);
  acts = true;
  ASSERT_EQ(run(), NestedOutcome::returned);
  EXPECT_EQ(result_.registers.gpr[RAX], 5u);
}

// Debug code uses the engine and writes to the program's memory, and the run around it does not notice.
TEST_F(OwnCodeTest, what_debug_code_does_is_undone_to_a_mark) {
  const uint64_t stub = own_ + kSize - 16;
  bool acts = false;
  run_.add_stub(stub, [&] {
    run_.registers().gpr[RAX] = 1;
    if (!acts) return true;
    run_.run_debug_code([&] {
      UndoLog& log = nested_.log();
      EXPECT_EQ(word(0), 11u);
      const uint64_t value = 99;
      log.store(data_, &value, sizeof value);
      log.store(data_ + 400, &value, sizeof value);
      engine::Translator& engine = nested_.translator();
      engine.registers() = {};
      engine.registers().fs_base = regs().fs_base;
      engine.registers().gpr[RSP] = stack_ + 2048;
      engine.registers().gpr[RDI] = data_ + 128;
      engine.registers().gpr[RSI] = 5;
      engine.registers().rip = place(rdb_nested_sum);
      std::byte other[32] = {std::byte{3}};
      engine.write_vector(0, other);
      engine.run(30);
      EXPECT_EQ(word(0), 99u);
    });
    EXPECT_EQ(word(0), 11u);
    EXPECT_EQ(word(50), 50 * 0x9E3779B97F4A7C15);
    return true;
  });
  run_.watch(place(rdb_nested_sum));
  options_.hashes_stores = true;
  call(rdb_nested_small);
  regs().gpr[RSI] = stub;
  ASSERT_EQ(run_twin(rdb_nested_calls_rsi), NestedOutcome::returned);
  const NestedResult quiet = result_;
  acts = true;
  ASSERT_EQ(run_twin(rdb_nested_calls_rsi), NestedOutcome::returned);
  EXPECT_EQ(result_.executed, quiet.executed);
  EXPECT_EQ(result_.store_hash, quiet.store_hash);
  EXPECT_EQ(result_.written, quiet.written);
  EXPECT_EQ(result_.bytes, quiet.bytes);
  EXPECT_TRUE(result_.entries.empty());
  EXPECT_EQ(std::memcmp(result_.vector, quiet.vector, sizeof quiet.vector), 0);
}

TEST(ByteSet, ranges) {
  ByteSet set;
  set.add(10, 5);
  set.add(15, 1);
  set.add(4090, 70);
  set.add(1u << 30, 64);
  EXPECT_EQ(set.ranges(), (std::vector<ByteRange>{{10, 16}, {4090, 4160}, {1u << 30, (1u << 30) + 64}}));
  EXPECT_TRUE(set.contains(4096));
  EXPECT_FALSE(set.contains(4160));
  EXPECT_FALSE(set.add_new(4091, 60));
  EXPECT_TRUE(set.add_new(4091, 70));
  ByteSet other;
  set.add_missing(8, 10, other);
  EXPECT_EQ(other.ranges(), (std::vector<ByteRange>{{8, 10}, {16, 18}}));
  for (uint64_t i = 0; i < 5000; ++i)
    set.add(i * 8192, 1);
  EXPECT_EQ(set.ranges().size(), 5003u);
  set.clear();
  EXPECT_TRUE(set.ranges().empty());
  set.add(8192, 2);
  EXPECT_EQ(set.ranges(), (std::vector<ByteRange>{{8192, 8194}}));
}

} // namespace
} // namespace rdb::debug
