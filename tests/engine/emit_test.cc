// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every sequence that the translator can emit, by its disassembly; and what becomes of rip-relative operands.
#include "rdbtool/engine/translate/emit.h"
#include "rdbtool/engine/translate/scratch.h"
#include "tests/engine/disassembly.h"

#include <functional>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <vector>

namespace rdb::engine {
namespace {

// Code and a variable, close to each other and at an address that is the same in every run.
class Emit : public testing::Test {
protected:
  Emit() {
    void* memory = mmap(reinterpret_cast<void*>(0x30000000), 8192, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    EXPECT_EQ(memory, reinterpret_cast<void*>(0x30000000));
    code_ = static_cast<uint8_t*>(memory);
    slot_ = code_ + 4096;
  }
  ~Emit() override { munmap(code_, 8192); }

  std::string text(const std::function<void(Emitter&)>& body) {
    Emitter emit(code_, code_ + 4096);
    body(emit);
    return disassembly(code_, emit.here(), slot_);
  }

  static Instruction instruction(uint64_t pc, std::vector<uint8_t> bytes) {
    bytes.resize(32, 0x90);
    Instruction result;
    EXPECT_TRUE(decode(pc, bytes.data(), bytes.size(), result));
    return result;
  }

  uint8_t* code_;
  uint8_t* slot_;
};

TEST_F(Emit, moves) {
  EXPECT_EQ(text([&](Emitter& e) { e.store(slot_, RCX); }), "mov [SLOT], rcx");
  EXPECT_EQ(text([&](Emitter& e) { e.store(slot_, R13); }), "mov [SLOT], r13");
  EXPECT_EQ(text([&](Emitter& e) { e.load(RAX, slot_); }), "mov rax, [SLOT]");
  EXPECT_EQ(text([&](Emitter& e) { e.load(R9, slot_); }), "mov r9, [SLOT]");
  EXPECT_EQ(text([&](Emitter& e) { e.load32(RCX, slot_); }), "mov ecx, [SLOT]");
  EXPECT_EQ(text([&](Emitter& e) { e.load32(R8, slot_); }), "mov r8d, [SLOT]");
  EXPECT_EQ(text([&](Emitter& e) { e.store32(slot_, RCX); }), "mov [SLOT], ecx");
  EXPECT_EQ(text([&](Emitter& e) { e.store32(slot_, R8); }), "mov [SLOT], r8d");
  EXPECT_EQ(text([&](Emitter& e) { e.store_imm32(slot_, 7); }), "mov dword ptr [SLOT], 0x07");
  EXPECT_EQ(text([&](Emitter& e) { e.mov_imm64(R11, 0x1122334455667788); }), "mov r11, 0x1122334455667788");
  EXPECT_EQ(text([&](Emitter& e) { e.load_top_of_stack(RCX); }), "mov rcx, [rsp]");
  EXPECT_EQ(text([&](Emitter& e) { e.load_through_rcx(0); }), "mov rcx, [rcx]");
  EXPECT_EQ(text([&](Emitter& e) { e.load_through_rcx(0x64); }), "mov rcx, fs:[rcx]");
  EXPECT_EQ(text([&](Emitter& e) { e.load_byte_through_rcx(); }), "movzx ecx, byte ptr [rcx]");
}

TEST_F(Emit, arithmetic) {
  EXPECT_EQ(text([&](Emitter& e) { e.sub_slot_flags(slot_, 5); }), "sub qword ptr [SLOT], 0x05");
  EXPECT_EQ(text([&](Emitter& e) { e.sub_slot_flags(slot_, 300); }), "sub qword ptr [SLOT], 0x12C");
  EXPECT_EQ(text([&](Emitter& e) { e.sub_slot_flags(slot_, -7); }),
            "sub qword ptr [SLOT], 0xFFFFFFFFFFFFFFF9");
  EXPECT_EQ(text([&](Emitter& e) { e.sub_slot32_flags(slot_, 1); }), "sub dword ptr [SLOT], 0x01");
  EXPECT_EQ(text([&](Emitter& e) { e.lea_offset(RCX, -0x1234); }), "lea rcx, [rcx-0x1234]");
  EXPECT_EQ(text([&](Emitter& e) { e.lea_sum(RCX, RAX); }), "lea rcx, [rcx+rax*1]");
  EXPECT_EQ(text([&](Emitter& e) { e.add_rsp(8); }), "lea rsp, [rsp+0x08]");
  EXPECT_EQ(text([&](Emitter& e) { e.add_rsp(0x1008); }), "lea rsp, [rsp+0x1008]");
  EXPECT_EQ(text([&](Emitter& e) { e.hash_to_rax(); }), "movzx eax, cx");
  EXPECT_EQ(text([&](Emitter& e) { e.lea_rcx(RSP, -8); }), "lea rcx, [rsp-0x08]");
  EXPECT_EQ(text([&](Emitter& e) { e.lea_rcx(R12, 0x1234); }), "lea rcx, [r12+0x1234]");
  EXPECT_EQ(text([&](Emitter& e) { e.lea_rcx(R9, 16); }), "lea rcx, [r9+0x10]");
  EXPECT_EQ(text([&](Emitter& e) { e.lea_rcx_sum(R13); }), "lea rcx, [r13+rcx*1]");
  EXPECT_EQ(text([&](Emitter& e) { e.lea_rcx_sum(RDX); }), "lea rcx, [rdx+rcx*1]");
  EXPECT_EQ(text([&](Emitter& e) { e.lea_rcx_fs(0x28); }), "rdfsbase rcx; lea rcx, [rcx+0x28]");
  EXPECT_EQ(text([&](Emitter& e) { e.ask_table_rcx(6, 0x7F080000); }),
            "rorx rcx, rcx, 0x06; movzx ecx, cx; movzx ecx, byte ptr [rcx+0x7F080000]");
}

TEST_F(Emit, stack_and_branches) {
  EXPECT_EQ(text([&](Emitter& e) { e.push_slot(slot_); }), "push [SLOT]");
  EXPECT_EQ(text([&](Emitter& e) { e.push_constant().to(slot_); }), "push [SLOT]");
  EXPECT_EQ(text([&](Emitter& e) { e.push_imm32(0x401000); }), "push 0x401000");
  EXPECT_EQ(text([&](Emitter& e) { e.push_imm32(-1); }), "push 0xFFFFFFFFFFFFFFFF");
  EXPECT_EQ(text([&](Emitter& e) { e.pop(R12); }), "pop r12");
  EXPECT_EQ(text([&](Emitter& e) { e.jmp_to(slot_); }), "jmp SLOT");
  EXPECT_EQ(text([&](Emitter& e) { e.jcc(8).to(slot_); }), "js SLOT");
  EXPECT_EQ(text([&](Emitter& e) { e.jmp_table_rax(0x7F000000); }), "jmp [rax*8+0x7F000000]");
  EXPECT_EQ(text([&](Emitter& e) {
              uint8_t* branch = e.jrcxz();
              e.pop(RAX);
              e.land(branch);
            }),
            "jrcxz 0x0000000030000003; pop rax");
  EXPECT_EQ(text([&](Emitter& e) { e.jmp_to_if_rcxz(slot_); }),
            "jrcxz 0x0000000030000004; jmp 0x0000000030000009; jmp SLOT");
  EXPECT_EQ(text([&](Emitter& e) { e.land(e.short_branch(0xE2, true)); }), "loop 0x0000000030000003");
}

TEST_F(Emit, rip_relative_operands_keep_their_target) {
  // mov eax, [rip+0x100] at 0x30002000: 0x30002106
  Instruction load = instruction(0x30002000, {0x8B, 0x05, 0x00, 0x01, 0x00, 0x00});
  EXPECT_EQ(text([&](Emitter& e) { EXPECT_TRUE(e.copy(load)); }), "mov eax, [0x0000000030002106]");
  // with an immediate behind the displacement
  Instruction compare = instruction(0x30002000, {0x83, 0x3D, 0x00, 0x01, 0x00, 0x00, 0x05});
  EXPECT_EQ(text([&](Emitter& e) { EXPECT_TRUE(e.copy(compare)); }),
            "cmp dword ptr [0x0000000030002107], 0x05");
  Instruction vex = instruction(0x30002000, {0xC5, 0xFE, 0x6F, 0x05, 0x00, 0x01, 0x00, 0x00});
  EXPECT_EQ(text([&](Emitter& e) { EXPECT_TRUE(e.copy(vex)); }), "vmovdqu ymm0, [0x0000000030002108]");
  Instruction evex = instruction(0x30002000, {0x62, 0xF1, 0xFE, 0x48, 0x6F, 0x05, 0, 1, 0, 0});
  EXPECT_EQ(text([&](Emitter& e) { EXPECT_TRUE(e.copy(evex)); }),
            "vmovdqu64 zmm0, zmmword ptr [0x000000003000210A]");
}

TEST_F(Emit, low_operands_are_in_reach_of_any_place) {
  // The operand is below 2 GiB, but more than that away from the copy: 32-bit addressing wraps.
  Instruction wraps = instruction(0x1000, {0x67, 0x8B, 0x05, 0x00, 0x01, 0x00, 0x00});
  EXPECT_EQ(text([&](Emitter& e) { EXPECT_TRUE(e.copy(wraps)); }), "mov eax, [0x0000000000001107]");
}

TEST_F(Emit, operands_out_of_reach_go_through_a_register) {
  struct Case {
    std::vector<uint8_t> bytes;
    const char* expected;
  };
  const Case cases[] = {
      {{0x8B, 0x05, 0, 1, 0, 0}, "mov eax, [rbx]"},
      {{0x49, 0x8B, 0x1D, 0, 1, 0, 0}, "mov rbx, [rsi]"}, // a REX.B that means nothing
      {{0x48, 0x83, 0x3D, 0, 1, 0, 0, 5}, "cmp qword ptr [rbx], 0x05"},
      {{0xC5, 0xFE, 0x6F, 0x05, 0, 1, 0, 0}, "vmovdqu ymm0, [rbx]"},
      {{0xC4, 0xE2, 0x60, 0xF2, 0x05, 0, 1, 0, 0}, "andn eax, ebx, [rsi]"},
      {{0x62, 0xF1, 0xFE, 0x48, 0x6F, 0x05, 0, 1, 0, 0}, "vmovdqu64 zmm0, zmmword ptr [rbx]"},
      {{0x62, 0xE1, 0xFE, 0x48, 0x6F, 0x05, 0, 1, 0, 0}, "vmovdqu64 zmm16, zmmword ptr [rbx]"},
      {{0x62, 0xF1, 0x7C, 0x59, 0x58, 0x05, 0, 1, 0, 0}, "vaddps zmm0 {k1}, zmm0, [rbx] {1to16}"},
      {{0xF0, 0x0F, 0xB1, 0x1D, 0, 1, 0, 0}, "lock cmpxchg [rsi], ebx"},
  };
  for (const Case& c : cases) {
    Instruction i = instruction(0x200000000000, c.bytes);
    std::string got = text([&](Emitter& e) {
      EXPECT_FALSE(e.copy(i));
      emit_through_register(e, i, free_register(i));
    });
    EXPECT_EQ(got, c.expected);
  }
}

TEST_F(Emit, evex_compressed_displacements_are_copied_as_they_are) {
  // vmovdqu64 zmm1, [rax+0x40]: disp8 is 1, scaled by the vector length.
  Instruction i = instruction(0x200000000000, {0x62, 0xF1, 0xFE, 0x48, 0x6F, 0x48, 0x01});
  EXPECT_EQ(text([&](Emitter& e) { EXPECT_TRUE(e.copy(i)); }), "vmovdqu64 zmm1, zmmword ptr [rax+0x40]");
}

TEST_F(Emit, operands_of_indirect_branches_are_loaded) {
  struct Case {
    std::vector<uint8_t> bytes;
    const char* expected;
  };
  const Case cases[] = {
      {{0xFF, 0xD0}, "mov rcx, rax"},
      {{0x41, 0xFF, 0xE3}, "mov rcx, r11"},
      {{0xFF, 0x24, 0xC5, 0, 0, 0x40, 0}, "mov rcx, [rax*8+0x400000]"},
      {{0x43, 0xFF, 0x54, 0xE5, 0x10}, "mov rcx, [r13+r12*8+0x10]"},
      {{0x64, 0xFF, 0x10}, "mov rcx, fs:[rax]"},
      {{0x67, 0xFF, 0x10}, "mov rcx, [eax]"},
      {{0x3E, 0xFF, 0xE0}, "mov rcx, rax"}, // notrack
      {{0xFF, 0x25, 0, 1, 0, 0}, "mov rcx, [0x0000000030002106]"},
  };
  for (const Case& c : cases) {
    Instruction i = instruction(0x30002000, c.bytes);
    EXPECT_EQ(text([&](Emitter& e) { EXPECT_TRUE(e.load_operand(RCX, i)); }), c.expected);
  }
}

TEST_F(Emit, addresses_of_operands_are_computed) {
  struct Case {
    std::vector<uint8_t> bytes;
    const char* expected;
  };
  const Case cases[] = {
      {{0x48, 0x89, 0x03}, "lea rcx, [rbx]"},
      {{0x48, 0x89, 0x43, 0x10}, "lea rcx, [rbx+0x10]"},
      {{0x4B, 0x89, 0x84, 0xE5, 0x00, 0x10, 0, 0}, "lea rcx, [r13+r12*8+0x1000]"},
      {{0xC7, 0x04, 0x24, 1, 2, 3, 4}, "lea rcx, [rsp]"}, // the immediate is no part of it
      {{0x66, 0xC7, 0x44, 0x24, 0x08, 1, 2}, "lea rcx, [rsp+0x08]"},
      {{0x48, 0x8B, 0x04, 0xC5, 0, 0, 0x40, 0}, "lea rcx, [rax*8+0x400000]"},
      {{0x67, 0x8B, 0x03}, "lea rcx, [ebx]"},
      {{0x64, 0x8B, 0x03}, "lea rcx, [rbx]"}, // without its segment
      {{0xC5, 0xFE, 0x7F, 0x43, 0x20}, "lea rcx, [rbx+0x20]"},
      {{0xC4, 0x41, 0x7E, 0x7F, 0x43, 0x20}, "lea rcx, [r11+0x20]"},
      {{0xC4, 0x81, 0x7E, 0x7F, 0x04, 0x23}, "lea rcx, [r11+r12*1]"},
      // EVEX: one byte of displacement counts as many as the operand has, unless it is broadcast
      {{0x62, 0xF1, 0xFE, 0x48, 0x7F, 0x43, 0x02}, "lea rcx, [rbx+0x02]; lea rcx, [rcx+0x7E]"},
      {{0x62, 0x91, 0xFE, 0x28, 0x7F, 0x44, 0x23, 0xFF}, "lea rcx, [r11+r12*1-0x01]; lea rcx, [rcx-0x1F]"},
      {{0x62, 0xF1, 0x7C, 0x58, 0x58, 0x43, 0x01}, "lea rcx, [rbx+0x01]; lea rcx, [rcx+0x03]"},
      {{0x62, 0xF1, 0xFE, 0x48, 0x7F, 0x83, 0, 1, 0, 0}, "lea rcx, [rbx+0x100]"},
      {{0x83, 0x3D, 0x00, 0x01, 0, 0, 5}, "lea rcx, [0x0000000030002107]"},
      {{0xC6, 0x05, 0x00, 0x01, 0, 0, 5}, "lea rcx, [0x0000000030002107]"},
  };
  for (const Case& c : cases) {
    Instruction i = instruction(0x30002000, c.bytes);
    EXPECT_EQ(text([&](Emitter& e) { EXPECT_TRUE(e.address_of_operand(RCX, i)); }), c.expected);
  }
  Instruction far = instruction(0x200000000000, {0xC6, 0x05, 0x00, 0x01, 0, 0, 5});
  EXPECT_EQ(text([&](Emitter& e) { EXPECT_FALSE(e.address_of_operand(RCX, far)); }), "");
}

} // namespace
} // namespace rdb::engine
