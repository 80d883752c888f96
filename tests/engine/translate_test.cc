// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What becomes of each kind of instruction, by the disassembly of the block that is made of it: every rule of
// the translator, in every flavour that treats it differently, and the link stubs between superblocks.
#include "rdbtool/engine/store_log.h"
#include "rdbtool/engine/translate/link_stub.h"
#include "rdbtool/engine/translate/translate.h"
#include "tests/engine/disassembly.h"

#include <array>
#include <gtest/gtest.h>
#include <initializer_list>
#include <regex>
#include <vector>

namespace rdb::engine {
namespace {

constexpr uint64_t kCachePlace = 0x40000000;
constexpr uint64_t kCacheSize = 32u << 20;
constexpr uint64_t kTablePlace = 0x7F000000;
constexpr uint64_t kPc = 0x38000000;            // near the cache
constexpr uint64_t kFarPc = 0x200000000000;     // out of reach
constexpr uint64_t kOther = 0x0000000039000000; // where paths go on that do not go straight on

// One instruction, followed by others.
struct Bytes {
  std::array<uint8_t, 32> data;
  constexpr Bytes(std::initializer_list<uint8_t> list) : data() {
    data.fill(0x90);
    size_t size = 0;
    for (uint8_t value : list)
      data[size++] = value;
  }
};

class Translate : public testing::Test {
protected:
  Translate() : cache_(kCachePlace, kCacheSize, kTablePlace) { cache_.count_uses_to(100); }

  // The instructions one after the other; `next` where the last one goes, 0: straight on.
  static std::vector<PathStep> path(uint64_t pc, const std::vector<Bytes>& code, uint64_t next = 0) {
    std::vector<PathStep> result;
    for (const Bytes& bytes : code) {
      PathStep step;
      EXPECT_TRUE(decode(pc, bytes.data.data(), bytes.data.size(), step.instruction));
      pc = step.instruction.end();
      step.next = pc;
      result.push_back(step);
    }
    if (next != 0) result.back().next = next;
    return result;
  }

  Block& block(Flavour flavour, const std::vector<PathStep>& steps, const HookSet& hooks = {},
               CodeTrust trust = CodeTrust::watched) {
    return translate(cache_, steps, flavour, PathEnd::goes_on, hooks, trust);
  }

  // The block's code with names for everything of the engine's.
  std::string text(const Block& made) const { return text(made.begin, made.end, &made); }

  std::string text(const uint8_t* begin, const uint8_t* end, const Block* made = nullptr) const {
    const State& state = const_cast<CodeCache&>(cache_).state();
    std::vector<std::pair<const void*, const char*>> names = {
        {&state.budget, "BUDGET"},
        {&state.spill_rcx, "RCX"},
        {&state.spill_rax, "RAX"},
        {&state.spill_scratch, "SCRATCH"},
        {&state.indirect_target, "TARGET"},
        {&state.indirect_from, "FROM"},
        {&state.exit_number, "EXIT"},
        {&state.log_cursor, "LOG"},
        {reinterpret_cast<const uint8_t*>(&state.budget) + 4, "BUDGET_HIGH"},
        {reinterpret_cast<const void*>(kCachePlace + kCacheSize / 16 * 15), "COUNTER"},
        {cache_.context_switch().leave, "LEAVE"},
        {cache_.context_switch().fast_leave, "FAST"},
        {cache_.context_switch().hook, "HOOK"},
        {cache_.context_switch().indirect_miss, "MISS"},
    };
    std::string result = disassembly(begin, end);
    for (const auto& [address, name] : names)
      replace(result, fmt::format("0x{:016X}", reinterpret_cast<uint64_t>(address)), name);
    if (made != nullptr) {
      // Addresses within the block, from its beginning.
      for (const uint8_t* at = begin; at <= end; ++at)
        replace(result, fmt::format("0x{:016X}", reinterpret_cast<uint64_t>(at)),
                fmt::format("+{}", at - begin));
    }
    // Padding before the constants, and they themselves, read as anything.
    if (size_t pad = result.find("; int3"); pad != std::string::npos) result.resize(pad);
    // Where the block lies depends on how much code the CPU's registers need before it.
    static const std::regex here("(\\[FROM\\], )0x[0-9A-F]+");
    return std::regex_replace(result, here, "$1HERE");
  }

  static void replace(std::string& where, const std::string& what, const std::string& by) {
    for (size_t found; (found = where.find(what)) != std::string::npos;)
      where.replace(found, what.size(), by);
  }

  CodeCache cache_;
};

constexpr Bytes kAdd = {0x48, 0x01, 0xD8};           // add rax, rbx: all flags
constexpr Bytes kMov = {0x48, 0x89, 0xD8};           // mov rax, rbx
constexpr Bytes kAdc = {0x48, 0x11, 0xD8};           // adc rax, rbx: reads flags
constexpr Bytes kCompareMemory = {0x48, 0x3B, 0x03}; // cmp rax, [rbx]
constexpr Bytes kCompare = {0x48, 0x39, 0xD8};       // cmp rax, rbx
constexpr Bytes kJz = {0x74, 0x10};                  // jz +0x10
constexpr Bytes kSyscall = {0x0F, 0x05};
constexpr Bytes kRet = {0xC3};
constexpr Bytes kJumpRegister = {0xFF, 0xE2}; // jmp rdx
constexpr Bytes kCallRegister = {0xFF, 0xD2}; // call rdx

struct Case {
  const char* name;
  Flavour flavour;
  uint64_t pc;
  std::vector<Bytes> code;
  uint64_t next;
  const char* expected;
};

TEST_F(Translate, every_kind_of_instruction) {
  const Case cases[] = {
#include "tests/engine/translate_cases.inc"
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    cache_.flush_all();
    EXPECT_EQ(text(block(c.flavour, path(c.pc, c.code, c.next))), c.expected);
  }
}

TEST_F(Translate, a_hook_calls_the_host_and_comes_back) {
  auto steps = path(kPc, {kMov, kAdd});
  Block& made = block(Flavour::basic, steps, {{steps[1].instruction.pc, {.users = 1}}});
  std::string code = text(made);
  EXPECT_NE(code.find("mov rax, rbx; mov dword ptr [EXIT], 0x02; jmp HOOK; add rax, rbx"), std::string::npos)
      << code;
  EXPECT_EQ(static_cast<int>(cache_.exit(2).kind), static_cast<int>(ExitKind::hook));
}

TEST_F(Translate, code_that_changes_is_compared_first) {
  Block& made =
      block(Flavour::basic, path(kPc, {kMov, kMov, {0x90}, {0x90}, {0x90}}), {}, CodeTrust::compared);
  EXPECT_EQ(text(made).substr(0, text(made).find("; mov rax, rbx")),
            "jmp +31; mov rax, [RAX]; mov rcx, [RCX]; mov dword ptr [EXIT], 0x02; jmp LEAVE; mov [RCX], rcx; "
            "mov [RAX], rax; mov rcx, 0x38000000; mov rcx, [rcx]; mov rax, 0x6F6F2776B72776B8; "
            "lea rcx, [rcx+rax*1]; jrcxz +79; jmp +2; mov rcx, 0x38000001; mov rcx, [rcx]; "
            "mov rax, 0x6F6F6F2776B72777; lea rcx, [rcx+rax*1]; jrcxz +113; jmp +2; mov rax, [RAX]; "
            "mov rcx, [RCX]; mov [RCX], rcx; mov rcx, [BUDGET]; lea rcx, [rcx-0x05]; mov [BUDGET], rcx; "
            "mov ecx, [BUDGET_HIGH]; jrcxz +168; jmp +189; mov rcx, [RCX]");
  EXPECT_EQ(static_cast<int>(cache_.exit(2).kind), static_cast<int>(ExitKind::changed));
}

TEST_F(Translate, every_place_of_a_block_says_what_it_is) {
  Block& made = block(Flavour::basic, path(kPc, {kMov, kAdc, kCompare, kJz}));
  ASSERT_FALSE(made.map.empty());
  EXPECT_EQ(made.map[0].offset(), 0u);
  uint32_t last = 0;
  for (size_t i = 0; i < made.map.size(); ++i) {
    const MapEntry& entry = made.map[i];
    if (i != 0) {
      EXPECT_GT(entry.offset(), last);
    }
    last = entry.offset();
    EXPECT_GE(entry.pc(), kPc);
    EXPECT_LE(entry.pc(), kPc + 0x30);
    EXPECT_LE(std::abs(entry.owed()), 4);
  }
  EXPECT_EQ(MapEntry(7, 0x7FFFFFFFE123, -3, kSpillRcx, R12).pc(), 0x7FFFFFFFE123u);
}

// An exit in the middle of a superblock to the head of another: one charge for both.
TEST_F(Translate, bridges_charge_for_two) {
  auto target_path = path(kOther, {kMov, kAdd, kMov}, kPc);
  Block& target = block(Flavour::superblock, target_path);
  ASSERT_NE(target.charge, nullptr);
  std::vector<MapEntry> map;
  Emitter emit = cache_.begin_block();
  const uint8_t* begin = emit.here();
  // Two instructions are done and not charged. The link stub repeats what stands before the target's charge.
  ASSERT_TRUE(emit_link_stub(emit, cache_.state(), 2, target, map));
  std::string expected = fmt::format(
      "mov rax, rbx; sub qword ptr [BUDGET], 0x05; js 0x{:016X}; jmp 0x{:016X}",
      reinterpret_cast<uint64_t>(target.charge->over), reinterpret_cast<uint64_t>(target.charge->done));
  EXPECT_EQ(text(begin, emit.here()), expected);
  ASSERT_EQ(map.size(), 3u);
  EXPECT_EQ(map[0].pc(), kOther);
  EXPECT_EQ(map[0].owed(), 2);
  EXPECT_EQ(map[1].pc(), kOther + 3);
  EXPECT_EQ(map[1].owed(), 3);
  EXPECT_EQ(map[2].owed(), -2); // charged with the target: of its three one is done
}

TEST_F(Translate, a_link_stub_repeats_a_comparison_of_memory) {
  Block& target = block(Flavour::superblock, path(kOther, {kCompareMemory, kMov}, kPc));
  ASSERT_NE(target.charge, nullptr);
  std::vector<MapEntry> map;
  Emitter emit = cache_.begin_block();
  const uint8_t* begin = emit.here();
  ASSERT_TRUE(emit_link_stub(emit, cache_.state(), -3, target, map));
  // Done before the charge, where it may fault; the target does it again behind it.
  EXPECT_EQ(text(begin, emit.here()).substr(0, 52), "cmp rax, [rbx]; sub qword ptr [BUDGET], 0xFFFFFFFFFF");
}

TEST_F(Translate, blocks_without_a_simple_charge_have_no_link_stub) {
  Block& target = block(Flavour::superblock, path(kOther, {kMov, kAdc}, kPc));
  EXPECT_EQ(target.charge, nullptr);
  std::vector<MapEntry> map;
  Emitter emit = cache_.begin_block();
  EXPECT_FALSE(emit_link_stub(emit, cache_.state(), 1, target, map));
}

// Linked superblocks go through the link stub, and back to the long way when the target is unlinked.
TEST_F(Translate, links_use_stubs_and_unlinking_takes_them_away) {
  Block& target = block(Flavour::superblock, path(kPc + 0x18, {kMov, kAdd}, kOther));
  Block& source = block(Flavour::superblock, path(kPc, {kAdd, kCompare, kJz, kMov, kMov}, kOther));
  uint32_t number = 2;
  while (cache_.exit(number).block != &source || cache_.exit(number).side_branch == 0)
    ++number;
  Exit& exit = cache_.exit(number);
  ASSERT_EQ(exit.target, kPc + 0x18);
  auto goes_to = [&] {
    int32_t distance;
    std::memcpy(&distance, cache_.at(exit.side_branch), 4);
    return cache_.at(exit.side_branch) + 4 + distance;
  };
  EXPECT_EQ(goes_to(), cache_.at(exit.side_code));
  cache_.link(number, target);
  EXPECT_TRUE(exit.linked);
  EXPECT_NE(goes_to(), cache_.at(exit.side_code));
  EXPECT_EQ(text(goes_to(), goes_to() + 3), "mov rax, rbx");
  cache_.unlink(target);
  EXPECT_FALSE(exit.linked);
  EXPECT_EQ(goes_to(), cache_.at(exit.side_code));
}

TEST_F(Translate, watched_accesses_are_asked_about) {
  cache_.watches().add({0x5000, 0x5008, true, true});
  Block& made = block(Flavour::basic, path(kPc, {{0x48, 0x89, 0x43, 0x10}})); // mov [rbx+0x10], rax
  std::string code = text(made);
  EXPECT_NE(
      code.find(
          "mov [RCX], rcx; lea rcx, [rbx+0x10]; rorx rcx, rcx, 0x06; movzx ecx, cx; movzx ecx, byte ptr "),
      std::string::npos)
      << code;
  // Nothing there; else the finer table; else the host.
  EXPECT_NE(code.find("lea rcx, [rbx+0x10]; rorx rcx, rcx, 0x03"), std::string::npos) << code;
}

TEST_F(Translate, on_the_stack_one_question_serves_for_neighbours) {
  cache_.watches().add({0x5000, 0x5008, false, true});
  // mov [rsp+0x10], rax; mov [rsp+0x18], rax
  Block& made =
      block(Flavour::basic, path(kPc, {{0x48, 0x89, 0x44, 0x24, 0x10}, {0x48, 0x89, 0x44, 0x24, 0x18}}));
  std::string code = text(made);
  EXPECT_NE(code.find("lea rcx, [rsp+0x10]; rorx rcx, rcx, 0x06"), std::string::npos) << code;
  EXPECT_EQ(code.find("lea rcx, [rsp+0x18]"), std::string::npos) << code;
  // Each eight bytes of them, if need be.
  EXPECT_NE(code.find("lea rcx, [rsp+0x10]; rorx rcx, rcx, 0x03"), std::string::npos) << code;
  EXPECT_NE(code.find("lea rcx, [rsp+0x10]; lea rcx, [rcx+0x08]; rorx rcx, rcx, 0x03"), std::string::npos)
      << code;
}

TEST_F(Translate, one_question_serves_for_what_a_loop_goes_through) {
  cache_.watches().add({0x5000, 0x5008, false, true});
  const Bytes store = {0x88, 0x04, 0x3B};            // mov [rbx+rdi], al
  const Bytes next = {0x48, 0xFF, 0xC7};             // inc rdi
  const Bytes far = {0x48, 0x83, 0xC7, 0x40};        // add rdi, 0x40
  const Bytes narrow = {0xFF, 0xC7};                 // inc edi
  const Bytes back = {0x48, 0x8D, 0x7F, 0xF8};       // lea rdi, [rdi-8]
  const Bytes other = {0x48, 0x89, 0xF3};            // mov rbx, rsi
  const Bytes scaled = {0x88, 0x04, 0xBB};           // mov [rbx+rdi*4], al
  const Bytes wide = {0x0F, 0x11, 0x44, 0x3B, 0x01}; // movups [rbx+rdi+1], xmm0
  auto questions = [&](const std::vector<Bytes>& code) {
    std::string made = text(block(Flavour::basic, path(kPc, code)));
    size_t count = 0;
    for (size_t at = 0; (at = made.find("rorx rcx, rcx, 0x06", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  EXPECT_EQ(questions({store, next, store, next, store, back, store}), 1u);
  EXPECT_EQ(questions({store, next, wide}), 1u);
  EXPECT_EQ(questions({store, far, store}), 2u);
  EXPECT_EQ(questions({store, narrow, store}), 2u);
  EXPECT_EQ(questions({store, other, store}), 2u);
  EXPECT_EQ(questions({store, scaled}), 2u);
  EXPECT_EQ(questions({scaled, next, scaled, next, scaled}), 1u);
  EXPECT_EQ(questions({scaled, far, scaled}), 2u);
}

TEST_F(Translate, reads_are_not_asked_about_where_only_writes_are_watched) {
  cache_.watches().add({0x5000, 0x5008, false, true});
  Block& made = block(Flavour::basic, path(kPc, {{0x48, 0x8B, 0x43, 0x10}})); // mov rax, [rbx+0x10]
  EXPECT_EQ(text(made).find("rorx"), std::string::npos) << text(made);
}

TEST_F(Translate, stores_are_logged_where_that_is_wanted) {
  alignas(8) static StoreLogEntry log[8];
  cache_.state().log_cursor = reinterpret_cast<uint64_t>(log);
  Block& made = block(Flavour::basic, path(kPc, {{0x48, 0x89, 0x43, 0x10}}));
  std::string code = text(made);
  EXPECT_NE(code.find("lea rcx, [rbx+0x10]"), std::string::npos) << code;
  EXPECT_NE(code.find("[LOG]"), std::string::npos) << code;
  cache_.state().log_cursor = 0;
}

} // namespace
} // namespace rdb::engine
