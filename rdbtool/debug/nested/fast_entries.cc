// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Notes an entry of a watched function. Runs with the guest's FS base and vector registers: compiled for
// general registers only, without stack protector, and calling nothing that is not (see CMakeLists.txt).
#include "rdbtool/debug/nested/nested_run.h"

namespace rdb::debug {

bool NestedRun::is_back() const {
  const engine::Registers& regs = engine_.state().registers;
  return regs.rip == back_ && regs.gpr[engine::RSP] == back_sp_;
}

// All but the vector registers.
void NestedRun::write_entry(NestedEntry& entry, uint64_t pc) const {
  using enum engine::Gpr;
  const uint64_t* gpr = engine_.state().registers.gpr;
  entry.address = pc;
  entry.offset = executed();
  entry.integer[0] = gpr[RDI];
  entry.integer[1] = gpr[RSI];
  entry.integer[2] = gpr[RDX];
  entry.integer[3] = gpr[RCX];
  entry.integer[4] = gpr[R8];
  entry.integer[5] = gpr[R9];
  entry.rsp = gpr[RSP];
}

bool NestedRun::at_hook_fast(void* self, void* place, uint64_t pc) {
  auto& run = *static_cast<NestedRun*>(self);
  const Point& point = *static_cast<const Point*>(place);
  if (!run.running_ || run.ended_) return true;
  if (point.is_return && run.is_back()) return false;
  if (!point.is_entry) return true;
  if (run.entry_count_ >= run.entry_room_ || run.executed() == 0) return false;
  NestedEntry& entry = run.entry_begin_[run.entry_count_++];
  run.write_entry(entry, pc);
  store_low_vectors(entry.vector);
  return true;
}

} // namespace rdb::debug
