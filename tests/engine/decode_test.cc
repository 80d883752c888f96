// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table-driven decoder must agree with Zydis wherever it claims to know an instruction.
#include "rdbtool/engine/instructions/decode.h"
#include "rdbtool/engine/instructions/fast_decode.h"
#include "rdbtool/engine/instructions/string_instruction.h"

#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <link.h>
#include <random>
#include <vector>

namespace rdb::engine {
namespace {

std::string bytes_of(const uint8_t* bytes) {
  std::string result;
  for (int i = 0; i < 15; ++i)
    result += fmt::format("{:02x} ", bytes[i]);
  return result;
}

// True if the fast decoder knew it.
bool check(uint64_t pc, const uint8_t* bytes, size_t size, size_t& length) {
  Instruction full;
  decode_fully(pc, bytes, size, full);
  length = full.length;
  Instruction fast;
  if (!decode_fast(pc, bytes, size, fast)) return false;
  // What the CPU refuses it refuses in the copy, too.
  if (full.kind == Kind::invalid) return true;
  auto message = [&] { return bytes_of(bytes) + disassemble(full); };
  EXPECT_EQ(full.kind, fast.kind) << message();
  EXPECT_EQ(full.length, fast.length) << message();
  EXPECT_EQ(full.pc, fast.pc) << message();
  EXPECT_EQ(full.target, fast.target) << message();
  if (full.kind == Kind::branch) {
    EXPECT_EQ(full.condition, fast.condition) << message();
  }
  EXPECT_EQ(full.modrm_offset, fast.modrm_offset) << message();
  EXPECT_EQ(full.disp_offset, fast.disp_offset) << message();
  EXPECT_EQ(full.rex, fast.rex) << message();
  EXPECT_EQ(full.rex_offset, fast.rex_offset) << message();
  EXPECT_EQ(full.vex_offset, fast.vex_offset) << message();
  EXPECT_EQ(full.rip_relative, fast.rip_relative) << message();
  EXPECT_EQ(full.memory, fast.memory) << message();
  EXPECT_EQ(full.pop_bytes, fast.pop_bytes) << message();
  EXPECT_EQ(full.writes_all_flags, fast.writes_all_flags) << message();
  EXPECT_EQ(full.flags_again, fast.flags_again) << message();
  EXPECT_EQ(full.x87, fast.x87) << message();
  // Copied along with plain instructions; only the operand of a branch is taken apart.
  if (full.memory && full.kind != Kind::plain) {
    EXPECT_EQ(full.segment, fast.segment) << message();
  }
  if (full.memory) {
    EXPECT_EQ(full.address32, fast.address32) << message();
  }
  EXPECT_EQ(0, std::memcmp(full.bytes, fast.bytes, full.length)) << message();
  return true;
}

struct Text {
  const uint8_t* begin = nullptr;
  size_t size = 0;
};

// The largest executable segment of this process: that of some library.
Text largest_text() {
  Text result;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& best = *static_cast<Text*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type == PT_LOAD && header.p_flags & PF_X && header.p_memsz > best.size)
            best = {reinterpret_cast<const uint8_t*>(info->dlpi_addr + header.p_vaddr), header.p_memsz};
        }
        return 0;
      },
      &result);
  return result;
}

TEST(Decode, agrees_with_zydis_on_a_library) {
  Text text = largest_text();
  ASSERT_GT(text.size, 100000u);
  size_t known = 0;
  size_t all = 0;
  for (size_t at = 0; at + 32 < text.size && !HasFailure();) {
    size_t length = 1;
    auto pc = reinterpret_cast<uint64_t>(text.begin + at);
    known += check(pc, text.begin + at, text.size - at, length);
    ++all;
    at += length;
  }
  EXPECT_GT(known * 100, all * 90) << "most instructions should not need the slow decoder";
}

TEST(Decode, agrees_with_zydis_on_random_bytes) {
  std::mt19937_64 random(1);
  // Every opcode of the first two maps with random operands, then prefixes at random.
  for (int round = 0; round < 400000 && !HasFailure(); ++round) {
    uint8_t bytes[32];
    for (size_t i = 0; i < sizeof bytes; i += 8) {
      uint64_t word = random();
      std::memcpy(bytes + i, &word, 8);
    }
    size_t at = 0;
    static constexpr uint8_t kPrefixes[] = {0x66, 0xF2, 0xF3, 0x67, 0x64, 0x3E, 0x48, 0x41, 0x44, 0x4F};
    for (uint64_t n = random() % 3; n > 0; --n)
      bytes[at++] = kPrefixes[random() % sizeof kPrefixes];
    switch (random() % 4) {
    case 0:
      bytes[at] = 0x0F;
      break;
    case 1:
      bytes[at] = random() % 2 ? 0xC5 : 0xC4;
      break;
    default:
      break;
    }
    size_t length;
    check(0x400000, bytes, sizeof bytes, length);
  }
}

TEST(Decode, near_the_end_of_memory) {
  const uint8_t ret[] = {0xC3};
  Instruction instruction;
  ASSERT_TRUE(decode(0x1000, ret, 1, instruction));
  EXPECT_EQ(instruction.kind, Kind::ret);
  const uint8_t half[] = {0x48, 0x8B};
  EXPECT_FALSE(decode(0x1000, half, 2, instruction)) << "half an instruction is none";
}

TEST(Decode, string_instructions_that_repeat) {
  using Operation = StringInstruction::Operation;
  struct Case {
    std::vector<uint8_t> bytes;
    Operation operation;
    uint32_t size;
    bool address32;
    uint8_t segment;
  };
  const Case kCases[] = {
      {{0xF3, 0xA4}, Operation::movs, 1, false, 0},
      {{0xF2, 0xA4}, Operation::movs, 1, false, 0}, // the CPU does not look at which prefix it is
      {{0xF3, 0x48, 0xA5}, Operation::movs, 8, false, 0},
      {{0x66, 0xF3, 0xA5}, Operation::movs, 2, false, 0},
      {{0x48, 0xF3, 0xA5}, Operation::movs, 4, false, 0}, // REX counts right before the opcode only
      {{0xF3, 0x67, 0xAB}, Operation::stos, 4, true, 0},
      {{0x64, 0xF3, 0xAC}, Operation::lods, 1, false, 0x64},
      {{0xF2, 0xAE}, Operation::scas, 1, false, 0},
      {{0xF3, 0x48, 0xA7}, Operation::cmps, 8, false, 0},
  };
  for (const Case& one : kCases) {
    Instruction instruction;
    ASSERT_TRUE(decode(0x1000, one.bytes.data(), one.bytes.size(), instruction));
    std::optional<StringInstruction> found = repeated_string(instruction);
    ASSERT_TRUE(found) << disassemble(instruction);
    EXPECT_EQ(found->operation, one.operation) << disassemble(instruction);
    EXPECT_EQ(found->size, one.size) << disassemble(instruction);
    EXPECT_EQ(found->address32, one.address32) << disassemble(instruction);
    EXPECT_EQ(found->segment, one.segment) << disassemble(instruction);
  }
  for (const std::vector<uint8_t>& bytes :
       {std::vector<uint8_t>{0xA4}, {0xF3, 0x90}, {0xF3, 0x0F, 0xB8, 0xC0}, {0xF2, 0x0F, 0x10, 0x06}}) {
    Instruction instruction;
    ASSERT_TRUE(decode(0x1000, bytes.data(), bytes.size(), instruction));
    EXPECT_FALSE(repeated_string(instruction)) << disassemble(instruction);
  }
}

TEST(Decode, what_the_host_takes_part_in) {
  struct Case {
    std::vector<uint8_t> bytes;
    Kind kind;
  };
  const Case cases[] = {
      {{0x0F, 0x05}, Kind::system_call},
      {{0x0F, 0xA2}, Kind::input},
      {{0x0F, 0x31}, Kind::input},
      {{0x0F, 0xC7, 0xF0}, Kind::input},
      {{0x9D}, Kind::emulated},
      {{0xCC}, Kind::emulated},
      {{0xCD, 0x03}, Kind::emulated},
      {{0xCD, 0x80}, Kind::refused},
      {{0x0F, 0x0B}, Kind::invalid},
      {{0x06}, Kind::invalid},
      {{0xD9, 0x30}, Kind::emulated},
      {{0x0F, 0xAE, 0x00}, Kind::emulated},
      {{0x0F, 0xC7, 0x20}, Kind::emulated},
      {{0xCF}, Kind::refused},
      {{0xE3, 0x00}, Kind::loop},
      {{0xC2, 0x10, 0x00}, Kind::ret},
      {{0xFF, 0xD0}, Kind::call_indirect},
      {{0xFF, 0x20}, Kind::jump_indirect},
      {{0xF2, 0xFF, 0xE0}, Kind::jump_indirect},
      {{0xFF, 0x28}, Kind::refused},
  };
  for (const Case& c : cases) {
    std::vector<uint8_t> bytes = c.bytes;
    bytes.resize(32, 0x90);
    Instruction instruction;
    ASSERT_TRUE(decode(0x400000, bytes.data(), bytes.size(), instruction));
    EXPECT_EQ(static_cast<int>(instruction.kind), static_cast<int>(c.kind)) << bytes_of(bytes.data());
  }
}

TEST(Decode, what_may_use_x87) {
  struct Case {
    std::vector<uint8_t> bytes;
    bool x87;
  };
  const Case cases[] = {
      {{0xD9, 0xEB}, true},                   // fldpi
      {{0xD9, 0x38}, true},                   // fnstcw [rax]
      {{0x0F, 0x77}, true},                   // emms
      {{0x0F, 0x6F, 0xC1}, true},             // movq mm0, mm1
      {{0x0F, 0x2A, 0xC1}, true},             // cvtpi2ps xmm0, mm1
      {{0x66, 0x0F, 0x2A, 0xC1}, true},       // cvtpi2pd xmm0, mm1
      {{0x66, 0x0F, 0x2D, 0xC1}, true},       // cvtpd2pi mm0, xmm1
      {{0xF2, 0x0F, 0xD6, 0xC1}, true},       // movdq2q mm0, xmm1
      {{0x0F, 0x38, 0x00, 0xC1}, true},       // pshufb mm0, mm1
      {{0x0F, 0x3A, 0x0F, 0xC1, 0x01}, true}, // palignr mm0, mm1, 1
      {{0x0F, 0xAE, 0x08}, true},             // fxrstor [rax]
      {{0x0F, 0xAE, 0x28}, true},             // xrstor [rax]
      {{0x0F, 0x58, 0xC1}, false},            // addps
      {{0x66, 0x0F, 0xFC, 0xC1}, false},      // paddb xmm0, xmm1
      {{0xF3, 0x0F, 0x6F, 0xC1}, false},      // movdqu
      {{0xF2, 0x0F, 0x2A, 0xC1}, false},      // cvtsi2sd
      {{0xC5, 0xF8, 0x77}, false},            // vzeroupper
      {{0x0F, 0xC7, 0x20}, false},            // xsavec [rax]: the host knows the state
      {{0x48, 0x89, 0xC8}, false},            // mov
  };
  for (const Case& c : cases) {
    std::vector<uint8_t> bytes = c.bytes;
    bytes.resize(32, 0x90);
    Instruction instruction;
    ASSERT_TRUE(decode(0x400000, bytes.data(), bytes.size(), instruction));
    EXPECT_EQ(instruction.x87, c.x87) << bytes_of(bytes.data());
  }
}

} // namespace
} // namespace rdb::engine
