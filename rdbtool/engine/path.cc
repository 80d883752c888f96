// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/path.h"

namespace rdb::engine {
namespace {

// Where straight-line execution goes after this instruction, as far as it is known beforehand.
uint64_t likely_next(const Instruction& instruction) {
  return instruction.kind == Kind::jump || instruction.kind == Kind::call ? instruction.target
                                                                          : instruction.end();
}

} // namespace

void find_basic(GuestMemory& memory, const StopSet& stops, uint64_t pc, size_t most, Path& out) {
  out.steps.clear();
  out.end = PathEnd::goes_on;
  out.trust = CodeTrust::watched;
  size_t available = memory.executable_bytes(GuestAddr(pc), most * 15);
  if (available == 0) {
    out.fault_address = pc;
    return;
  }
  uint64_t limit = pc + available;
  uint64_t at = pc;
  while (out.steps.size() < most) {
    if (!out.steps.empty() && !stops.empty() && stops.count(at)) {
      out.end = PathEnd::stop;
      return;
    }
    PathStep& step = out.steps.emplace_back();
    if (at >= limit || !decode(at, reinterpret_cast<const uint8_t*>(at), limit - at, step.instruction)) {
      // It runs into memory that cannot be executed. What is before it is still a block.
      out.steps.pop_back();
      if (out.steps.empty()) out.fault_address = limit;
      return;
    }
    step.next = likely_next(step.instruction);
    if (step.instruction.ends_block()) return;
    at = step.instruction.end();
  }
}

} // namespace rdb::engine
