// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The log of loads names exactly what instructions read, in order, and where they stand between stores.
#include "rdbtool/engine/instructions/operand.h"
#include "rdbtool/engine/load_log.h"
#include "rdbtool/engine/translate/code_path.h"
#include "tests/engine/engine_fixture.h"

#include <algorithm>
#include <fmt/format.h>
#include <random>

namespace rdb::engine {
namespace {

using Code = std::vector<uint8_t>;
using Kind = StoreLogEntry::Kind;

struct Noted {
  bool load = false;
  uint64_t address = 0;
  uint64_t size = 0;
  bool operator==(const Noted&) const = default;
};

std::string text(const std::vector<Noted>& notes) {
  std::string result;
  for (const Noted& note : notes)
    result += fmt::format("{} {:#x} {}\n", note.load ? "load" : "store", note.address, note.size);
  return result;
}

class LoadLogTest : public EngineTest {
protected:
  LoadLogTest() : log_(1 << 20) {}

  // Stores in one piece each.
  std::vector<Noted> notes(Translator& engine) {
    std::vector<Noted> result;
    for (const StoreLogEntry* entry = log_.data(); entry != engine.store_log_end(); ++entry) {
      if (entry->kind == Kind::more)
        result.back().size += entry->size;
      else
        result.push_back({entry->kind == Kind::load, entry->address, entry->size});
    }
    return result;
  }

  // What the decoder says, an instruction at a time.
  std::vector<Noted> expected(const uint8_t* label) {
    auto engine = make(Tier::step);
    prepare(*engine, label);
    std::vector<Noted> result;
    for (;;) {
      std::optional<Instruction> instruction = instruction_at(memory_, engine->registers().rip);
      EXPECT_TRUE(instruction);
      for (const MemoryAccess& access : memory_accesses(*instruction, *engine))
        if (access.read) result.push_back({true, access.address, access.size});
      for (const MemoryAccess& access : memory_accesses(*instruction, *engine))
        if (access.write) result.push_back({false, access.address, access.size});
      if (engine->run(1).reason != StopReason::limit) return result;
    }
  }

  void prepare(Translator& engine, const uint8_t* label) {
    reset(engine, label, 6);
    auto* words = reinterpret_cast<uint32_t*>(data_);
    for (uint32_t i = 0; i < 1024; ++i)
      words[i] = i * 2654435761u;
    const auto data = reinterpret_cast<uint64_t>(data_);
    engine.registers().gpr[RDI] = data + 2048;
    engine.registers().gpr[R12] = data + 1024;
    engine.registers().gpr[R13] = data + 3000;
    engine.registers().gpr[RBX] = 24;
  }

  void expect_noted(const uint8_t* label) {
    const std::vector<Noted> wanted = expected(label);
    for (Tier tier : {Tier::step, Tier::blocks}) {
      auto engine = make(tier, {.log_stores = true, .log_loads = true});
      prepare(*engine, label);
      engine->set_store_log(log_);
      Stop stop = engine->run(log_.size() / kMostLogEntries - 1000);
      ASSERT_EQ(static_cast<int>(stop.reason), static_cast<int>(StopReason::system_call));
      ASSERT_EQ(text(notes(*engine)), text(wanted)) << "tier " << static_cast<int>(tier);
    }
  }

  // The code is put where the tests' own code is.
  void expect_noted(const Code& code) {
    std::memcpy(low_, code.data(), code.size());
    std::memcpy(low_ + code.size(), "\x0F\x05", 2); // syscall
    expect_noted(rdb_test_code);
  }

  std::vector<StoreLogEntry> log_;
};

// Instructions with an operand near rdi, whose other operand is one of rax, rcx and rdx. Those that begin
// with 0xFF, 0xF7 and the like have a further part of the opcode there.
struct Form {
  Code opcode;
  int further = -1;
  int immediate = 0; // bytes
};
const std::vector<Form>& forms() {
  static const std::vector<Form> kForms = {
      {{0x8B}},                    // mov ecx, m
      {{0x48, 0x8B}},              // mov rcx, m
      {{0x66, 0x8B}},              // mov cx, m
      {{0x8A}},                    // mov cl, m
      {{0x48, 0x89}},              // mov m, rcx
      {{0x88}},                    // mov m, cl
      {{0x03}},                    // add ecx, m
      {{0x48, 0x01}},              // add m, rcx
      {{0x3B}},                    // cmp ecx, m
      {{0x85}},                    // test m, ecx
      {{0x0F, 0xAF}},              // imul ecx, m
      {{0x0F, 0xB6}},              // movzx ecx, byte m
      {{0x48, 0x63}},              // movsxd rcx, m
      {{0x0F, 0x44}},              // cmove ecx, m
      {{0x0F, 0x94}, 0},           // sete m
      {{0x0F, 0xA3}},              // bt m, ecx
      {{0x0F, 0xAB}},              // bts m, ecx
      {{0x0F, 0xBA}, 5, 1},        // bts m, n
      {{0x87}},                    // xchg m, ecx
      {{0xF0, 0x0F, 0xB1}},        // lock cmpxchg m, ecx
      {{0xF0, 0x48, 0x0F, 0xC1}},  // lock xadd m, rcx
      {{0xFF}, 0},                 // inc m
      {{0xFF}, 6},                 // push m
      {{0x8F}, 0},                 // pop m
      {{0xF7}, 3},                 // neg m
      {{0xC7}, 0, 4},              // mov m, n
      {{0x0F, 0x10}},              // movups xmm1, m
      {{0x0F, 0x11}},              // movups m, xmm1
      {{0xF2, 0x0F, 0x10}},        // movsd xmm1, m
      {{0xF3, 0x0F, 0x5A}},        // cvtss2sd xmm1, m
      {{0xF3, 0x0F, 0x6F}},        // movdqu xmm1, m
      {{0x66, 0x0F, 0xC4}, -1, 1}, // pinsrw xmm1, m, n
      {{0xC5, 0xFE, 0x6F}},        // vmovdqu ymm1, m
      {{0xC5, 0xFE, 0x7F}},        // vmovdqu m, ymm1
      {{0xC4, 0xE2, 0x7D, 0x18}},  // vbroadcastss ymm1, m
      {{0xDD}, 0},                 // fld qword m
      {{0xDB}, 7},                 // fstp tbyte m
      {{0x48, 0x0F, 0xC3}},        // movnti m, rcx
      {{0x48, 0x8D}},              // lea rcx, m
  };
  return kForms;
}

void append(Code& code, const Code& more) {
  code.insert(code.end(), more.begin(), more.end());
}

void append_random(Code& code, std::mt19937_64& random) {
  const Form& form = forms()[random() % forms().size()];
  append(code,
         {0xB9, static_cast<uint8_t>(random()), static_cast<uint8_t>(random() % 8), 0, 0}); // mov ecx, n
  append(code, form.opcode);
  const auto reg = static_cast<uint8_t>(form.further >= 0 ? form.further : 1);
  const auto distance = static_cast<uint8_t>(random() % 128);
  switch (random() % 3) {
  case 0: // [rdi + n]
    append(code, {static_cast<uint8_t>(0x47 | reg << 3), distance});
    break;
  case 1: // [rdi + rbx * 2^n + n]
    append(code,
           {static_cast<uint8_t>(0x44 | reg << 3), static_cast<uint8_t>(0x1F | random() % 4 << 6), distance});
    break;
  default: // [rdi + n], with 32 bits
    append(code, {static_cast<uint8_t>(0x87 | reg << 3), distance, 1, 0, 0});
  }
  for (int i = 0; i < form.immediate; ++i)
    code.push_back(static_cast<uint8_t>(random() % 8));
  if (form.further == 0 && form.opcode[0] == 0xDD) append(code, {0xDD, 0xD8}); // fstp st0
  if (form.further == 7) append(code, {0xD9, 0xE8});                           // fld1
}

TEST_P(LoadLogTest, random_instructions) {
  if (!GetParam()) return;
  std::mt19937_64 random(11);
  for (int round = 0; round < 40; ++round) {
    Code code = {0xD9, 0xE8, 0x51}; // fld1; push rcx
    for (int i = 0; i < 60; ++i)
      append_random(code, random);
    expect_noted(code);
    if (HasFatalFailure()) return;
  }
}

TEST_P(LoadLogTest, stack_and_branches) {
  if (!GetParam()) return;
  expect_noted(Code{
      0x55,                                           // push rbp
      0x48, 0x89, 0xE5,                               // mov rbp, rsp
      0xE8, 0x0E, 0x00, 0x00, 0x00,                   // call the function
      0x48, 0x8D, 0x05, 0x07, 0x00, 0x00, 0x00,       // lea rax, its address
      0x48, 0x89, 0x07,                               // mov [rdi], rax
      0xFF, 0x17,                                     // call [rdi]
      0xEB, 0x02,                                     // jmp behind it
      0x90, 0xC3,                                     // the function
      0x64, 0x48, 0x8B, 0x04, 0x25, 0,    0,    0, 0, // mov rax, fs:[0]
      0x9C, 0x9D,                                     // pushf, popf
      0xC9,                                           // leave
  });
}

TEST_P(LoadLogTest, string_instructions) {
  if (!GetParam()) return;
  std::mt19937_64 random(3);
  // movs, stos, lods, in the bytes and words, in both directions.
  for (uint8_t opcode : {0xA4, 0xA5, 0xAA, 0xAB, 0xAC, 0xAD})
    for (bool repeats : {false, true})
      for (bool backwards : {false, true}) {
        Code code = {0x4C, 0x89,
                     0xE7, // mov rdi, r12
                     0x4C, 0x89,
                     0xEE, // mov rsi, r13
                     0xB9, static_cast<uint8_t>(random() % 60),
                     0,    0,
                     0};                     // mov ecx, n
        if (backwards) code.push_back(0xFD); // std
        if (repeats) code.push_back(0xF3);
        code.push_back(opcode);
        code.push_back(0xFC); // cld
        expect_noted(code);
        if (HasFatalFailure()) return;
      }
}

// What they compare decides how far they go.
TEST_P(LoadLogTest, comparing_string_instructions_read_up_to_the_element_that_decides) {
  if (!GetParam()) return;
  struct Case {
    Code code;
    uint64_t elements;
    int operands;
  };
  const auto data = reinterpret_cast<uint64_t>(data_);
  for (const Case& c : {Case{{0xF2, 0xAE}, 11, 1}, Case{{0xF3, 0xA6}, 5, 2}, Case{{0xF3, 0xAE}, 1, 1}}) {
    Code code = {0x4C, 0x89, 0xE7, 0x4C, 0x89, 0xEE, 0xB9, 60, 0, 0, 0, 0xB0, 0x77}; // and mov al, 0x77
    append(code, c.code);
    append(code, {0x0F, 0x05});
    std::memcpy(low_, code.data(), code.size());
    auto engine = make(Tier::blocks, {.log_stores = true, .log_loads = true});
    prepare(*engine, rdb_test_code);
    std::memset(data_ + 1024, 1, 64);
    std::memset(data_ + 3000, 1, 64);
    data_[1024 + 10] = 0x77;
    data_[3004] = 2;
    engine->set_store_log(log_);
    engine->run(1000);
    std::vector<Noted> wanted = {{true, data + 1024, c.elements}};
    if (c.operands == 2) wanted.insert(wanted.begin(), {true, data + 3000, c.elements});
    EXPECT_EQ(text(notes(*engine)), text(wanted));
  }
}

// A copy that reads what it has just written depends on its first bytes alone.
TEST_P(LoadLogTest, what_a_copy_has_written_itself_is_not_read) {
  if (!GetParam()) return;
  const Code code = {0x4C, 0x89, 0xE7, 0x48, 0x8D, 0x77, 0xFC, 0xB9, 60, 0, 0, 0, 0xF3, 0xA4, 0x0F, 0x05};
  std::memcpy(low_, code.data(), code.size()); // lea rsi, [rdi - 4]
  auto engine = make(Tier::blocks, {.log_stores = true, .log_loads = true});
  prepare(*engine, rdb_test_code);
  engine->set_store_log(log_);
  engine->run(1000);
  const auto data = reinterpret_cast<uint64_t>(data_);
  EXPECT_EQ(text(notes(*engine)), text({{true, data + 1020, 4}, {false, data + 1024, 60}}));
}

TEST_P(LoadLogTest, gathers) {
  if (!cpu().avx512) GTEST_SKIP() << "this CPU has no AVX-512";
  auto engine = make(Tier::blocks, {.log_stores = true, .log_loads = true});
  reset(*engine, rdb_test_gathers, 3);
  engine->set_store_log(log_);
  engine->run(10000);
  const std::vector<Noted> found = notes(*engine);
  EXPECT_GT(std::count_if(found.begin(), found.end(), [](const Noted& note) { return note.load; }), 3);
}

// Many entries of a single instruction end the run early, so that the rest has room.
TEST_P(LoadLogTest, a_run_ends_before_the_log_does) {
  if (!GetParam()) return;
  Code code = {0x4C, 0x89, 0xE7, 0xB9, 0x00, 0x08,
               0,    0,    0xF3, 0xAA, 0xEB, 0xF4}; // rep stosb, 2048 times; again
  std::memcpy(low_, code.data(), code.size());
  auto engine = make(Tier::blocks, {.log_stores = true});
  prepare(*engine, rdb_test_code);
  engine->set_store_log(std::span(log_).first(40000));
  Stop stop = engine->run(40000 / kMostLogEntries - 256);
  EXPECT_EQ(static_cast<int>(stop.reason), static_cast<int>(StopReason::limit));
  EXPECT_LE(engine->store_log_end(), log_.data() + 40000);
}

INSTANTIATE_TEST_SUITE_P(All, LoadLogTest, testing::Values(false, true));

} // namespace
} // namespace rdb::engine
