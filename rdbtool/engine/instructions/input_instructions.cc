// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions whose result comes from outside, such as rdtsc: run() stops before them, the owner says what
// the result is, and here it is put where the instruction would have put it.
#include "rdbtool/base/error.h"
#include "rdbtool/engine/translator.h"

#include <cpuid.h>
#include <immintrin.h>

namespace rdb::engine {

Engine::InputResult Translator::execute_input() {
  InputResult result;
  const Registers& regs = state_.registers;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  unsigned long long wide = 0;
  switch (current_input_.input) {
  case InputInstruction::rdtsc:
    asm volatile("rdtsc" : "=a"(a), "=d"(d));
    break;
  case InputInstruction::rdtscp:
    asm volatile("rdtscp" : "=a"(a), "=d"(d), "=c"(c));
    break;
  case InputInstruction::cpuid:
    __cpuid_count(static_cast<uint32_t>(regs.gpr[RAX]), static_cast<uint32_t>(regs.gpr[RCX]), a, b, c, d);
    break;
  case InputInstruction::xgetbv:
    asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(static_cast<uint32_t>(regs.gpr[RCX])));
    break;
  case InputInstruction::rdrand:
    asm volatile("rdrand %0; setc %1" : "=r"(wide), "=qm"(result.carry));
    result.rax = wide;
    return result;
  case InputInstruction::rdseed:
    asm volatile("rdseed %0; setc %1" : "=r"(wide), "=qm"(result.carry));
    result.rax = wide;
    return result;
  case InputInstruction::rdpid:
    asm volatile("rdpid %0" : "=r"(wide));
    result.rax = wide;
    return result;
  case InputInstruction::none:
    bug("no input instruction is waiting");
  }
  result.rax = a;
  result.rbx = b;
  result.rcx = c;
  result.rdx = d;
  return result;
}

void Translator::finish_input(const InputResult& result) {
  Registers& regs = state_.registers;
  constexpr uint64_t kArithmetic = 0x8D5; // OF SF ZF AF PF CF
  switch (current_input_.input) {
  case InputInstruction::cpuid:
    regs.gpr[RBX] = result.rbx;
    [[fallthrough]];
  case InputInstruction::rdtscp:
    regs.gpr[RCX] = result.rcx;
    [[fallthrough]];
  case InputInstruction::rdtsc:
  case InputInstruction::xgetbv:
    regs.gpr[RAX] = result.rax;
    regs.gpr[RDX] = result.rdx;
    break;
  case InputInstruction::rdrand:
  case InputInstruction::rdseed:
    regs.rflags = (regs.rflags & ~kArithmetic) | (result.carry ? 1 : 0);
    [[fallthrough]];
  case InputInstruction::rdpid: {
    uint8_t modrm = current_input_.bytes[current_input_.modrm_offset];
    uint64_t& destination = regs.gpr[(modrm & 7) | (current_input_.rex & 1) << 3];
    if (current_input_.input == InputInstruction::rdpid || current_input_.rex & 8)
      destination = result.rax;
    else if (current_input_.operand16)
      destination = (destination & ~0xFFFFull) | (result.rax & 0xFFFF);
    else
      destination = static_cast<uint32_t>(result.rax);
    break;
  }
  case InputInstruction::none:
    bug("no input instruction is waiting");
  }
  regs.rip = current_input_.end();
  ++executed_;
  current_input_ = {};
}

} // namespace rdb::engine
