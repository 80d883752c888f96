// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An engine and guest code of the tests' own (engine_guest_code.cc) to run in it, near the code cache and far
// from it, in every tier.
#pragma once

#include "rdbtool/engine/translator.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

extern "C" {
extern const uint8_t rdb_test_code[];
extern const uint8_t rdb_test_function[];
extern const uint8_t rdb_test_constant[];
extern const uint8_t rdb_test_faults[];
extern const uint8_t rdb_test_ends[];
extern const uint8_t rdb_test_lazy[];
extern const uint8_t rdb_test_slot[];
extern const uint8_t rdb_test_strides[];
extern const uint8_t rdb_test_gathers[];
extern const uint8_t rdb_test_wide[];
extern const uint8_t rdb_test_code_end[];
}

namespace rdb::engine {

inline constexpr uint64_t kCachePlace = 0x40000000;
inline constexpr uint64_t kLowCode = 0x38000000;
inline constexpr size_t kLowSize = 16384;
inline constexpr uint64_t kTablePlace = 0x7F000000;

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
  size_t read_code(GuestAddr from, void* to, size_t size) override { return read(from, to, size); }
  CodeWatch watch_code_page(GuestAddr) override { return watch; }

  CodeWatch watch = CodeWatch::noticed;
};

enum class Tier : uint8_t { step, blocks, superblocks };

struct Outcome {
  StopReason reason = {};
  uint64_t executed = 0;
  Registers registers;
  std::vector<std::byte> vectors;
  std::vector<uint8_t> memory;
};

inline Engine* g_engine = nullptr;

inline void on_fault(int signal, siginfo_t* info, void* context) {
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
    low_ = map(reinterpret_cast<void*>(kLowCode), kLowSize);
    EXPECT_LT(rdb_test_code_end + 16 - rdb_test_code, static_cast<ptrdiff_t>(kLowSize));
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
    munmap(low_, kLowSize);
  }

  // Near the code cache, or far from it.
  uint64_t code(const uint8_t* label) const {
    return GetParam() ? kLowCode + static_cast<uint64_t>(label - rdb_test_code)
                      : reinterpret_cast<uint64_t>(label);
  }

  std::unique_ptr<Translator> make(Tier tier, TranslatorOptions options = {}) {
    options.cache_place = kCachePlace;
    options.cache_size = 32u << 20;
    options.table_place = kTablePlace;
    options.step_only = tier == Tier::step;
    options.superblocks = tier == Tier::superblocks;
    options.uses_before_superblock = 20;
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

} // namespace rdb::engine
