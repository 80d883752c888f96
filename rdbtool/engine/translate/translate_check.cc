// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that changes often is not protected against writes: a block made from it begins with a comparison of
// the guest's code with the bytes that were translated. Such a block ends behind its first store, so that
// what the store changes is seen by the next one's comparison.
#include "rdbtool/engine/translate/translation.h"

#include <algorithm>
#include <cstring>

namespace rdb::engine {

void Translation::compare_code() {
  std::vector<uint8_t> code; // straight: a path through such code does not go beyond a branch
  for (const PathStep& step : path_)
    code.insert(code.end(), step.instruction.bytes, step.instruction.bytes + step.instruction.length);
  const uint64_t pc = path_[0].instruction.pc;

  uint8_t* begin = emit_.short_branch(0xEB, false);
  uint8_t* changed = emit_.here();
  map_at(pc, 0, kSpillRcx | kSpillRax);
  emit_.load(RAX, &state_.spill_rax);
  emit_.load(RCX, &state_.spill_rcx);
  map_at(pc, 0, kSpillNone);
  leave({.target = pc, .owed = 0, .kind = ExitKind::changed});
  emit_.land(begin);

  map_at(pc, 0, kSpillNone);
  emit_.store(&state_.spill_rcx, RCX);
  map_at(pc, 0, kSpillRcx);
  emit_.store(&state_.spill_rax, RAX);
  map_at(pc, 0, kSpillRcx | kSpillRax | kFetches);
  auto leave_unless_zero = [&] {
    uint8_t* same = emit_.jrcxz();
    emit_.jmp_to(changed);
    emit_.land(same);
  };
  for (size_t at = 0; at + 8 <= code.size();) {
    uint64_t expected;
    std::memcpy(&expected, code.data() + at, 8);
    emit_.mov_imm64(RCX, pc + at);
    emit_.load_through_rcx(0);
    emit_.mov_imm64(RAX, -expected);
    emit_.lea_sum(RCX, RAX);
    leave_unless_zero();
    if (at + 8 == code.size()) break;
    at = std::min(at + 8, code.size() - 8); // the last one overlaps
  }
  for (size_t at = 0; code.size() < 8 && at < code.size(); ++at) {
    emit_.mov_imm64(RCX, pc + at);
    emit_.load_byte_through_rcx();
    emit_.lea_offset(RCX, -code[at]);
    leave_unless_zero();
  }
  map_at(pc, 0, kSpillRcx | kSpillRax);
  emit_.load(RAX, &state_.spill_rax);
  emit_.load(RCX, &state_.spill_rcx);
  map_at(pc, 0, kSpillNone);
}

} // namespace rdb::engine
