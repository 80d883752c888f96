// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host interface, on code of this test's own: exact stops, stops at addresses and accesses, faults; in
// every tier, with stepping as the oracle, for code near the code cache and far from it.
#include "rdbtool/engine/translator.h"

#include <array>
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

extern "C" {
extern const uint8_t rdb_test_code[];
extern const uint8_t rdb_test_function[];
extern const uint8_t rdb_test_constant[];
extern const uint8_t rdb_test_faults[];
extern const uint8_t rdb_test_code_end[];
}

// rdi: 4096 bytes, rsi: rounds. Flags live over calls, indirect calls, carries, returns to two places.
asm(R"(
    .text
    .globl rdb_test_code, rdb_test_function, rdb_test_constant, rdb_test_faults, rdb_test_code_end
rdb_test_code:
    mov %rsi, %rcx
    xor %eax, %eax
1:  mov %rcx, %rdx
    imul $0x1E3779B1, %rdx, %rdx
    add %rdx, %rax
    adc $3, %rbx
    rol $7, %rax
    mov %rax, %r8
    and $0xff8, %r8d
    mov %rax, (%rdi,%r8)
    cmp %rax, (%rdi,%r8)
    jne 9f
    test $1, %al
    jz 2f
    call rdb_test_function
    jmp 3f
2:  lea rdb_test_function(%rip), %r10
    call *%r10
3:  setc %r11b
    sbb %r12, %r12
    pushf
    pop %r13
    mov rdb_test_constant(%rip), %rbp
    add %rbp, %rbx
    movq %rax, %xmm3
    paddq %xmm3, %xmm4
    cmp $5, %r8
    jb 4f
    ror %cl, %r14
4:  dec %rcx
    jnz 1b
9:  syscall
rdb_test_function:
    xor %r8, %rax
    shl %cl, %r14
    jc 5f
    inc %r15
5:  ret
rdb_test_constant:
    .quad 0x123456789abcdef
# Each access through a register of its own, with flags of its own before it. ecx: rounds.
rdb_test_faults:
6:  add $1, %rax
    mov %rax, (%rdi)
    adc $0x7f, %rbx
    add %rbx, (%rsi)
    sbb %rdx, %rdx
    cmp (%r8), %rbx
    jb 7f
    inc %rbx
7:  push %rbx
    mov (%r9), %r15
    xor %r15, %rax
    test %rbx, (%r10)
    cmovz %rax, %rdx
    pop %rbx
    movdqu (%r11), %xmm1
    dec %ecx
    jnz 6b
    syscall
rdb_test_code_end:
    nop
    .skip 32
)");

namespace rdb::engine {
namespace {

constexpr uint64_t kCachePlace = 0x40000000;
constexpr uint64_t kLowCode = 0x38000000;
constexpr uint64_t kTablePlace = 0x7F000000;

class HostMemory final : public GuestMemory {
public:
  size_t read(GuestAddr from, void* to, size_t size) override {
    iovec local{to, size};
    iovec remote{from.ptr(), size};
    ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return n < 0 ? 0 : static_cast<size_t>(n);
  }
  size_t write(GuestAddr to, const void* from, size_t size) override {
    iovec local{const_cast<void*>(from), size};
    iovec remote{to.ptr(), size};
    ssize_t n = process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
    return n < 0 ? 0 : static_cast<size_t>(n);
  }
  size_t executable_bytes(GuestAddr, size_t wanted) override { return wanted; }
  void watch_code_page(GuestAddr) override {}
};

enum class Tier : uint8_t { step, blocks, traces };

struct Outcome {
  StopReason reason = {};
  uint64_t executed = 0;
  Registers registers;
  std::vector<std::byte> vectors;
  std::vector<uint8_t> memory;
};

Engine* g_engine = nullptr;

void on_fault(int signal, siginfo_t* info, void* context) {
  if (!g_engine->handle_signal(signal, info, context)) abort();
}

class EngineTest : public testing::TestWithParam<bool> {
protected:
  EngineTest() {
    auto map = [](void* place, size_t size) {
      int fixed = place ? MAP_FIXED_NOREPLACE : 0;
      return static_cast<uint8_t*>(
          mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0));
    };
    data_ = map(nullptr, 4096 * 4);
    stack_ = map(nullptr, 65536);
    low_ = map(reinterpret_cast<void*>(kLowCode), 4096);
    std::memcpy(low_, rdb_test_code, static_cast<size_t>(rdb_test_code_end + 16 - rdb_test_code));
    mprotect(data_ + 4096, 4096, PROT_NONE);
    signal_stack_.resize(65536);
    stack_t alternate{};
    alternate.ss_sp = signal_stack_.data();
    alternate.ss_size = signal_stack_.size();
    sigaltstack(&alternate, nullptr);
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, nullptr);
  }
  ~EngineTest() override {
    signal(SIGSEGV, SIG_DFL);
    munmap(data_, 4096 * 4);
    munmap(stack_, 65536);
    munmap(low_, 4096);
  }

  // Near the code cache, or far from it.
  uint64_t code(const uint8_t* label) const {
    return GetParam() ? kLowCode + static_cast<uint64_t>(label - rdb_test_code)
                      : reinterpret_cast<uint64_t>(label);
  }

  std::unique_ptr<Translator> make(Tier tier) {
    TranslatorOptions options;
    options.cache_place = kCachePlace;
    options.cache_size = 32u << 20;
    options.table_place = kTablePlace;
    options.step_only = tier == Tier::step;
    options.traces = tier == Tier::traces;
    auto engine = std::make_unique<Translator>(memory_, options);
    g_engine = engine.get();
    return engine;
  }

  void reset(Engine& engine, const uint8_t* label, uint64_t rounds) {
    std::memset(data_, 0, 4096);
    std::memset(stack_, 0, 65536);
    Registers& regs = engine.registers();
    regs = {};
    asm volatile("rdfsbase %0" : "=r"(regs.fs_base));
    asm volatile("rdgsbase %0" : "=r"(regs.gs_base));
    regs.rip = code(label);
    regs.gpr[RSP] = reinterpret_cast<uint64_t>(stack_) + 65536 - 64;
    regs.gpr[RDI] = reinterpret_cast<uint64_t>(data_);
    regs.gpr[RSI] = rounds;
    for (int i = R12; i <= R15; ++i)
      regs.gpr[i] = 0x1111111111111111ull * static_cast<uint64_t>(i);
    std::vector<std::byte> vectors(engine.vector_size());
    const uint32_t mxcsr = 0x1F80;
    std::memcpy(vectors.data() + 24, &mxcsr, 4);
    engine.write_vectors(vectors);
  }

  Outcome outcome(Engine& engine, StopReason reason, uint64_t executed) {
    Outcome result;
    result.reason = reason;
    result.executed = executed;
    result.registers = engine.registers();
    result.vectors.resize(engine.vector_size());
    engine.read_vectors(result.vectors);
    result.memory.assign(data_, data_ + 4096);
    result.memory.insert(result.memory.end(), stack_, stack_ + 65536);
    return result;
  }

  Outcome run(Engine& engine, uint64_t limit) {
    uint64_t before = engine.executed();
    Stop stop = engine.run(limit);
    return outcome(engine, stop.reason, engine.executed() - before);
  }

  static void expect_equal(const Outcome& expected, const Outcome& found, const std::string& where) {
    ASSERT_EQ(static_cast<int>(expected.reason), static_cast<int>(found.reason)) << where;
    ASSERT_EQ(expected.executed, found.executed) << where;
    ASSERT_EQ(expected.registers.rip, found.registers.rip) << where;
    for (int i = 0; i < 16; ++i)
      ASSERT_EQ(expected.registers.gpr[i], found.registers.gpr[i]) << where << ", register " << i;
    ASSERT_EQ(expected.registers.rflags, found.registers.rflags) << where;
    ASSERT_EQ(expected.vectors, found.vectors) << where;
    ASSERT_EQ(expected.memory, found.memory) << where;
  }

  HostMemory memory_;
  uint8_t* data_;
  uint8_t* stack_;
  uint8_t* low_;
  std::vector<uint8_t> signal_stack_;
};

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
  for (Tier tier : {Tier::blocks, Tier::traces}) {
    auto engine = make(tier);
    // Hot from the first comparison on.
    reset(*engine, rdb_test_code, 5000);
    ASSERT_EQ(static_cast<int>(run(*engine, UINT64_MAX).reason), static_cast<int>(StopReason::system_call));
    if (tier == Tier::traces) {
      EXPECT_GT(engine->statistics().traces, 0u);
    }
    for (size_t i = 0; i < limits.size(); ++i) {
      reset(*engine, rdb_test_code, kRounds);
      expect_equal(expected[i], run(*engine, limits[i]), fmt::format("limit {}", limits[i]));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EngineTest, a_run_in_pieces_is_the_same_run) {
  auto engine = make(Tier::traces);
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
  auto engine = make(Tier::traces);
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
  auto engine = make(Tier::traces);
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

TEST_P(EngineTest, finds_the_same_accesses_in_every_tier) {
  constexpr uint64_t kRounds = 2000;
  const auto data = reinterpret_cast<uint64_t>(data_);
  const auto stack = reinterpret_cast<uint64_t>(stack_) + 65536 - 64;
  struct Set {
    const char* name;
    std::vector<WatchFilter::Watch> watches;
  };
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
  for (const Set& set : sets) {
    std::vector<Touch> expected;
    Outcome last;
    for (Tier tier : {Tier::step, Tier::blocks, Tier::traces}) {
      auto engine = make(tier);
      for (const WatchFilter::Watch& watch : set.watches)
        engine->add_watch(GuestAddr(watch.begin), watch.end - watch.begin, watch.reads, watch.writes);
      std::vector<Touch> found;
      reset(*engine, rdb_test_code, kRounds);
      Stop stop;
      while ((stop = engine->run(UINT64_MAX)).reason == StopReason::access)
        found.push_back({engine->executed(), engine->registers().rip, stop.access.address.value,
                         stop.access.size, stop.access.write});
      Outcome end = outcome(*engine, stop.reason, engine->executed());
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

TEST_P(EngineTest, a_limit_before_an_access_does_not_hide_it) {
  auto engine = make(Tier::traces);
  const auto data = reinterpret_cast<uint64_t>(data_);
  reset(*engine, rdb_test_code, 300);
  engine->add_watch(GuestAddr(data), 4096, false, true);
  ASSERT_EQ(static_cast<int>(engine->run(UINT64_MAX).reason), static_cast<int>(StopReason::access));
  uint64_t at = engine->executed();
  engine = nullptr;
  engine = make(Tier::traces);
  reset(*engine, rdb_test_code, 300);
  engine->run(at);
  engine->add_watch(GuestAddr(data), 4096, false, true);
  EXPECT_EQ(static_cast<int>(engine->run(UINT64_MAX).reason), static_cast<int>(StopReason::access));
  EXPECT_EQ(engine->executed(), at);
}

bool quick_answer(void* context, Registers& registers, uint64_t executed) {
  auto& seen = *static_cast<std::vector<uint64_t>*>(context);
  if (seen.size() == 3) return false;
  seen.push_back(executed);
  registers.gpr[RAX] = 77;
  return true;
}

TEST_P(EngineTest, offers_system_calls_to_the_quick_function_first) {
  auto engine = make(Tier::traces);
  std::vector<uint64_t> seen;
  seen.reserve(4);
  engine->set_quick_call({&quick_answer, &seen});
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
  EXPECT_EQ(engine->statistics().quick_calls, 3u);
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
  for (Tier tier : {Tier::blocks, Tier::traces}) {
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
  auto engine = make(Tier::traces);
  reset(*engine, rdb_test_code, 1000);
  engine->interrupt(nullptr);
  EXPECT_EQ(static_cast<int>(engine->run(UINT64_MAX).reason), static_cast<int>(StopReason::interrupted));
  EXPECT_EQ(static_cast<int>(engine->run(UINT64_MAX).reason), static_cast<int>(StopReason::system_call));
}

TEST_P(EngineTest, invalidated_code_is_translated_again) {
  if (!GetParam()) return; // the code of this program is read-only
  auto engine = make(Tier::traces);
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

TEST_P(EngineTest, memory_stays_bounded_when_code_comes_and_goes) {
  if (!GetParam()) return;
  auto engine = make(Tier::traces);
  for (int i = 0; i < 4000; ++i) {
    reset(*engine, rdb_test_code, 3);
    ASSERT_EQ(static_cast<int>(run(*engine, UINT64_MAX).reason), static_cast<int>(StopReason::system_call));
    engine->invalidate(GuestAddr(kLowCode), 4096);
  }
  EXPECT_LT(engine->statistics().peak_cache_bytes, 8u << 20);
}

INSTANTIATE_TEST_SUITE_P(Places, EngineTest, testing::Bool(),
                         [](const auto& place) { return place.param ? "near" : "far"; });

} // namespace
} // namespace rdb::engine
