// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/translate/code_path.h"

#include <algorithm>

namespace rdb::engine {
namespace {

constexpr size_t kLongestInstruction = 15;

// Where straight-line execution goes after this instruction, as far as it is known beforehand.
uint64_t likely_next(const Instruction& instruction) {
  return instruction.kind == Kind::jump || instruction.kind == Kind::call ? instruction.target
                                                                          : instruction.end();
}

// mov rax, number; syscall; ret
constexpr size_t kVsyscallSize = 10;
constexpr uint8_t kVsyscalls[3][kVsyscallSize] = {
    {0x48, 0xC7, 0xC0, 96, 0, 0, 0, 0x0F, 0x05, 0xC3},      // gettimeofday
    {0x48, 0xC7, 0xC0, 201, 0, 0, 0, 0x0F, 0x05, 0xC3},     // time
    {0x48, 0xC7, 0xC0, 0x35, 0x01, 0, 0, 0x0F, 0x05, 0xC3}, // getcpu
};

size_t read_vsyscall(uint64_t pc, uint8_t* to, size_t size) {
  constexpr uint64_t kDistance = 0x400;
  uint64_t function = (pc - kVsyscallPage) / kDistance;
  uint64_t offset = (pc - kVsyscallPage) % kDistance;
  // At its beginning, and where the system call leaves it.
  if (function >= 3 || (offset != 0 && offset != 7 && offset != 9)) return 0;
  size = std::min(size, kVsyscallSize - offset);
  std::copy_n(kVsyscalls[function] + offset, size, to);
  return size;
}

// What the guest may execute from pc on. A page is read only if an instruction reaches into it: to read one
// that another process has is to wait for it.
class FetchedCode {
public:
  FetchedCode(GuestMemory& memory, uint64_t pc, size_t most)
      : memory_(memory), pc_(pc), room_(std::min(most, sizeof bytes_)) {}

  const uint8_t* at(uint64_t pc) const { return bytes_ + (pc - pc_); }
  uint64_t end() const { return pc_ + size_; }
  // False: the guest cannot fetch what comes next, or there is no room for it.
  bool read_more() {
    size_t part = std::min(room_ - size_, kPage - end() % kPage);
    if (part == 0 || complete_) return false;
    complete_ = is_in_vsyscall_page(pc_);
    size_t done = complete_ ? read_vsyscall(pc_, bytes_, part)
                            : memory_.read_code(GuestAddr(end()), bytes_ + size_, part);
    size_ += done;
    return done != 0;
  }

private:
  static constexpr size_t kPage = 4096;
  GuestMemory& memory_;
  uint64_t pc_;
  size_t room_;
  size_t size_ = 0;
  bool complete_ = false;
  uint8_t bytes_[64 * kLongestInstruction];
};

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
  FetchedCode code(memory, pc, most * kLongestInstruction);
  uint64_t at = pc;
  while (out.steps.size() < most) {
    if (!out.steps.empty() && !stops.empty() && stops.count(at)) {
      out.end = PathEnd::stop;
      return;
    }
    PathStep& step = out.steps.emplace_back();
    while (at >= code.end() || !decode(at, code.at(at), code.end() - at, step.instruction)) {
      if (code.read_more()) continue;
      // It runs into memory that cannot be executed. What is before it is still a block.
      out.steps.pop_back();
      if (out.steps.empty()) out.fault_address = code.end();
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
