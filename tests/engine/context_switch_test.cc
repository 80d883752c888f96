// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code between host and guest, by its disassembly, for every kind of CPU: also for those with AVX-512,
// whose code is only looked at where the tests run on none.
#include "rdbtool/engine/translate/context_switch.h"
#include "tests/engine/disassembly.h"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <vector>

namespace rdb::engine {
namespace {

constexpr uint64_t kPlace = 0x30000000;
constexpr size_t kStateRoom = 64 << 10;
constexpr size_t kCodeRoom = 16 << 10;
constexpr uint32_t kMissExit = 77;

constexpr std::array<const char*, 16> kNames = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                                "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

class ContextSwitchTest : public testing::Test {
protected:
  ContextSwitchTest() {
    static_assert(sizeof(State) <= kStateRoom);
    memory_ = mmap(reinterpret_cast<void*>(kPlace), kStateRoom + kCodeRoom, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    EXPECT_EQ(memory_, reinterpret_cast<void*>(kPlace));
    state_ = new (memory_) State;
  }
  ~ContextSwitchTest() override { munmap(memory_, kStateRoom + kCodeRoom); }

  ContextSwitch emit(const Cpu& cpu) {
    auto* begin = static_cast<uint8_t*>(memory_) + kStateRoom;
    Emitter emit(begin, begin + kCodeRoom);
    ContextSwitch routines = emit_context_switch(emit, *state_, cpu, kMissExit);
    end_ = emit.here();
    return routines;
  }

  // With names for the variables.
  std::string text(const uint8_t* begin, const uint8_t* end) const {
    std::string result = disassembly(begin, end);
    auto name = [&](const void* address, const std::string& by) {
      std::string what = fmt::format("0x{:016X}", reinterpret_cast<uint64_t>(address));
      for (size_t found; (found = result.find(what)) != std::string::npos;)
        result.replace(found, what.size(), by);
    };
    const Registers& regs = state_->registers;
    name(&state_->host_rsp, "HOST_RSP");
    name(&state_->host_fs, "HOST_FS");
    name(&state_->mxcsr_guest, "GUEST_MXCSR");
    name(&state_->mxcsr_host, "HOST_MXCSR");
    name(&state_->resume, "RESUME");
    name(&state_->exit_number, "EXIT");
    name(&state_->indirect_target, "TARGET");
    name(&state_->spill_rcx, "RCX");
    name(&state_->spill_rax, "RAX");
    name(&state_->fast_context, "CONTEXT");
    name(&state_->fast_entry, "ENTRY");
    name(&state_->in_fast_call, "IN_FAST");
    name(&state_->hook_entry, "HOOK");
    name(&state_->fast_hook_entry, "FAST_HOOK");
    name(&regs.rflags, "FLAGS");
    name(&regs.fs_base, "FS");
    for (size_t i = 0; i < 16; ++i)
      name(&regs.gpr[i], fmt::format("G{}", i));
    for (size_t i = 0; i < 32; ++i)
      name(state_->vectors[i], fmt::format("V{}", i));
    for (size_t i = 0; i < 8; ++i)
      name(&state_->masks[i], fmt::format("K{}", i));
    return anonymous(result);
  }

  // Addresses of branches within the code read as "@".
  static std::string anonymous(std::string text) {
    for (size_t at = 0; (at = text.find(" 0x00000000300", at)) != std::string::npos;)
      text.replace(at + 1, 18, "@");
    return text;
  }

  static std::string load_general() {
    std::string result = "mov eax, [FLAGS]; mov ecx, eax; and ecx, 0xFFFFF72A; cmp ecx, 0x202; jnz @; "
                         "shr eax, 0x0B; add al, 0x7F; mov ah, [FLAGS]; sahf; jmp @; push [FLAGS]; popfq";
    for (size_t i = 0; i < 16; ++i)
      if (i != RSP) result += fmt::format("; mov {}, [G{}]", kNames[i], i);
    return result + "; mov rsp, [G4]; jmp [RESUME]";
  }
  static std::string save_general() {
    std::string result = "mov [G4], rsp; mov rsp, [HOST_RSP]; pushfq; pop [FLAGS]";
    for (size_t i = 0; i < 16; ++i)
      if (i != RSP) result += fmt::format("; mov [G{}], {}", i, kNames[i]);
    return result + "; test dword ptr [FLAGS], 0xFFFFF128; jz @; push 0x202; popfq";
  }
  static std::string call(const char* function) {
    return fmt::format("sub rsp, 0x08; mov rdi, [CONTEXT]; call [{}]; add rsp, 0x08", function);
  }
  static std::string call_fast(const char* function) {
    return "mov dword ptr [IN_FAST], 0x01; " + call(function) +
           "; mov dword ptr [IN_FAST], 0x00; mov [RESUME], rax; test rax, rax";
  }
  static std::string to_host_fs() { return "rdfsbase rax; mov [FS], rax; mov rax, [HOST_FS]; wrfsbase rax"; }
  static std::string for_all(int count, const char* pattern) {
    std::string result;
    for (int i = 0; i < count; ++i)
      result += fmt::format(fmt::runtime(pattern), i);
    return result;
  }

  // All of it, of which only the vector registers' part differs between CPUs.
  void expect(const Cpu& cpu, const std::string& load_vectors, const std::string& save_vectors) {
    ContextSwitch routines = emit(cpu);
    std::string save_rest =
        to_host_fs() + "; stmxcsr [GUEST_MXCSR]; " + save_vectors + "ldmxcsr [HOST_MXCSR]; ";
    EXPECT_EQ(text(reinterpret_cast<const uint8_t*>(routines.enter), routines.leave),
              "push rbp; push rbx; push r12; push r13; push r14; push r15; mov [HOST_RSP], rsp; "
              "rdfsbase rax; mov [HOST_FS], rax; " +
                  load_vectors + "ldmxcsr [GUEST_MXCSR]; mov rax, [FS]; wrfsbase rax; " + load_general());
    EXPECT_EQ(text(routines.leave, routines.fast_leave),
              save_general() + "; " + save_rest +
                  "cld; pop r15; pop r14; pop r13; pop r12; pop rbx; pop rbp; ret");
    EXPECT_EQ(text(routines.fast_leave, routines.hook),
              save_general() + "; cld; " + call_fast("ENTRY") + "; jz @; jmp @");
    EXPECT_EQ(text(routines.hook, routines.fast_hook), save_general() + "; cld; " + save_rest + call("HOOK") +
                                                           "; mov [HOST_RSP], rsp; mov [RESUME], rax; "
                                                           "test rax, rax; jz @; jmp @");
    const auto* to_host = reinterpret_cast<const uint8_t*>(routines.to_host);
    EXPECT_EQ(text(routines.fast_hook, to_host),
              save_general() + "; cld; rdfsbase rax; mov [FS], rax; mov dword ptr [IN_FAST], 0x02; " +
                  call("FAST_HOOK") +
                  "; mov [HOST_RSP], rsp; mov [RESUME], rax; cmp dword ptr [IN_FAST], 0x00; jz @; "
                  "mov dword ptr [IN_FAST], 0x00; test rax, rax; jz @; jmp @; test rax, rax; jz @; jmp @");
    EXPECT_EQ(text(to_host, routines.indirect_miss),
              "stmxcsr [GUEST_MXCSR]; " + save_vectors +
                  "ldmxcsr [HOST_MXCSR]; mov rax, [HOST_FS]; wrfsbase rax; "
                  "mov dword ptr [IN_FAST], 0x00; ret");
    EXPECT_EQ(text(routines.indirect_miss, end_), "mov [TARGET], rcx; mov rcx, [RCX]; mov rax, [RAX]; "
                                                  "mov dword ptr [EXIT], 0x4D; jmp @");
  }

  void* memory_;
  State* state_;
  const uint8_t* end_ = nullptr;
};

TEST_F(ContextSwitchTest, sse) {
  expect({}, for_all(16, "movups xmm{0}, [V{0}]; "), for_all(16, "movups [V{0}], xmm{0}; "));
}

TEST_F(ContextSwitchTest, avx) {
  Cpu cpu;
  cpu.avx = true;
  cpu.xcr0 = 7;
  expect(cpu, for_all(16, "vmovdqu ymm{0}, [V{0}]; "),
         for_all(16, "vmovdqu [V{0}], ymm{0}; ") + "vzeroupper; ");
}

TEST_F(ContextSwitchTest, avx512) {
  Cpu cpu;
  cpu.avx = cpu.avx512 = cpu.wide_masks = true;
  cpu.xcr0 = 0xE7;
  expect(cpu, for_all(32, "vmovdqu64 zmm{0}, zmmword ptr [V{0}]; ") + for_all(8, "kmovq k{0}, [K{0}]; "),
         for_all(32, "vmovdqu64 zmmword ptr [V{0}], zmm{0}; ") + for_all(8, "kmovq [K{0}], k{0}; ") +
             "vzeroupper; ");
}

TEST_F(ContextSwitchTest, avx512_with_narrow_masks) {
  Cpu cpu;
  cpu.avx = cpu.avx512 = true;
  cpu.xcr0 = 0xE7;
  expect(cpu,
         for_all(32, "vmovdqu64 zmm{0}, zmmword ptr [V{0}]; ") + for_all(8, "kmovw k{0}, word ptr [K{0}]; "),
         for_all(32, "vmovdqu64 zmmword ptr [V{0}], zmm{0}; ") + for_all(8, "kmovw word ptr [K{0}], k{0}; ") +
             "vzeroupper; ");
}

// Where the branches between these pieces go.
TEST_F(ContextSwitchTest, branches) {
  ContextSwitch routines = emit({});
  const auto* to_host = reinterpret_cast<const uint8_t*>(routines.to_host);
  struct Case {
    const uint8_t* begin;
    const uint8_t* end;
    const char* branch; // the last of this kind
    const char* leads_to;
  };
  const Case cases[] = {
      {routines.fast_leave, routines.hook, "jz ", "rdfsbase rax"},
      {routines.fast_leave, routines.hook, "jmp ", "mov eax, [FLAGS]"},
      {routines.hook, routines.fast_hook, "jz ", "pop r15; pop r14"},
      {routines.hook, routines.fast_hook, "jmp ", "movups xmm0, [V0]"},
      // Left by to_host.
      {routines.fast_hook, to_host, "jz ", "pop r15; pop r14"},
      {routines.fast_hook, to_host, "jmp ", "movups xmm0, [V0]"},
      {routines.indirect_miss, end_, "jmp ", "mov [G4], rsp; mov rsp, [HOST_RSP]"},
  };
  for (const Case& c : cases) {
    std::string code = disassembly(c.begin, c.end);
    size_t at = code.rfind(c.branch);
    ASSERT_NE(at, std::string::npos) << code;
    uint64_t target = std::stoull(code.substr(at + std::strlen(c.branch)), nullptr, 16);
    const auto* place = reinterpret_cast<const uint8_t*>(target);
    EXPECT_EQ(text(place, end_).substr(0, std::strlen(c.leads_to)), c.leads_to) << code;
  }
}

} // namespace
} // namespace rdb::engine
