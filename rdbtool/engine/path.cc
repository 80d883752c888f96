// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/path.h"

namespace rdb::engine {
namespace {

// Where straight-line execution goes after this instruction, as far as it is known beforehand.
uint64_t likely_next(const Instruction& instruction) {
  return instruction.kind == Kind::jump || instruction.kind == Kind::call ? instruction.target
                                                                          : instruction.end();
}

struct Code {
  const uint8_t* bytes = nullptr;
  size_t size = 0;
};

// The page behind all others, whose three functions the kernel emulates for old programs.
constexpr uint64_t kVsyscallPage = 0xFFFFFFFFFF600000;

Code vsyscall_code(uint64_t pc) {
  constexpr uint64_t kDistance = 0x400;
  constexpr size_t kSize = 10;
  // mov rax, number; syscall; ret
  static constexpr uint8_t kFunctions[3][kSize] = {
      {0x48, 0xC7, 0xC0, 96, 0, 0, 0, 0x0F, 0x05, 0xC3},      // gettimeofday
      {0x48, 0xC7, 0xC0, 201, 0, 0, 0, 0x0F, 0x05, 0xC3},     // time
      {0x48, 0xC7, 0xC0, 0x35, 0x01, 0, 0, 0x0F, 0x05, 0xC3}, // getcpu
  };
  uint64_t function = (pc - kVsyscallPage) / kDistance;
  uint64_t offset = (pc - kVsyscallPage) % kDistance;
  // At its beginning, and where the system call leaves it.
  if (function >= 3 || (offset != 0 && offset != 7 && offset != 9)) return {};
  return {kFunctions[function] + offset, kSize - offset};
}

// What the guest may execute from pc on.
Code code_at(GuestMemory& memory, uint64_t pc, size_t wanted) {
  if (pc >= kVsyscallPage) return vsyscall_code(pc);
  return {reinterpret_cast<const uint8_t*>(pc), memory.executable_bytes(GuestAddr(pc), wanted)};
}

// The dynamic linker restores vector registers with xrstor; the mask that stands before it leaves x87 out.
bool leaves_x87(const std::vector<PathStep>& steps) {
  if (steps.size() < 3) return false;
  const uint8_t* mask = steps[steps.size() - 3].instruction.bytes;
  const uint8_t* high = steps[steps.size() - 2].instruction.bytes;
  const uint8_t* restore = steps.back().instruction.bytes;
  return mask[0] == 0xB8 && !(mask[1] & 1) &&  // mov eax, imm32
         high[0] == 0x31 && high[1] == 0xD2 && // xor edx, edx
         restore[0] == 0x0F && restore[1] == 0xAE && (restore[2] & 0x38) == 0x28;
}

} // namespace

void find_basic(GuestMemory& memory, const StopSet& stops, uint64_t pc, size_t most, Path& out) {
  out.steps.clear();
  out.end = PathEnd::goes_on;
  out.trust = CodeTrust::watched;
  out.x87 = false;
  Code code = code_at(memory, pc, most * 15);
  if (code.size == 0) {
    out.fault_address = pc;
    return;
  }
  uint64_t limit = pc + code.size;
  uint64_t at = pc;
  while (out.steps.size() < most) {
    if (!out.steps.empty() && !stops.empty() && stops.count(at)) {
      out.end = PathEnd::stop;
      return;
    }
    PathStep& step = out.steps.emplace_back();
    if (at >= limit || !decode(at, code.bytes + (at - pc), limit - at, step.instruction)) {
      // It runs into memory that cannot be executed. What is before it is still a block.
      out.steps.pop_back();
      if (out.steps.empty()) out.fault_address = limit;
      return;
    }
    step.next = likely_next(step.instruction);
    if (step.instruction.x87 && !leaves_x87(out.steps)) out.x87 = true;
    if (step.instruction.ends_block()) return;
    at = step.instruction.end();
  }
}

std::optional<Instruction> instruction_at(GuestMemory& memory, uint64_t pc) {
  Path one;
  find_basic(memory, {}, pc, 1, one);
  if (one.steps.empty()) return std::nullopt;
  return one.steps[0].instruction;
}

} // namespace rdb::engine
