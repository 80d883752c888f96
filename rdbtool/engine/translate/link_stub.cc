// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/translate/link_stub.h"

namespace rdb::engine {

bool emit_link_stub(Emitter& emit, State& state, int32_t owed, const Block& target,
                    std::vector<MapEntry>& map) {
  if (target.charge == nullptr) return false;
  const Charge& charge = *target.charge;
  const uint8_t* begin = emit.here();
  auto map_here = [&](uint64_t pc) { map.emplace_back(emit.here() - begin, pc, owed, kSpillNone); };
  for (const Instruction& instruction : charge.before) {
    map_here(instruction.pc);
    if (instruction.kind == Kind::plain && !emit.copy(instruction)) return false;
    // What is charged with a comparison of memory comes before it as well as behind it.
    if (instruction.pc != charge.pc) ++owed;
  }
  map_here(charge.pc);
  // `owed` is now what was done; the block's own charge covers what it has done up to here.
  int32_t own = static_cast<int32_t>(charge.before.size());
  if (!charge.before.empty() && charge.before.back().pc == charge.pc) --own;
  emit.sub_slot_flags(&state.budget, owed - own + charge.amount);
  map.emplace_back(emit.here() - begin, charge.pc, own - charge.amount, kSpillNone);
  emit.jcc(kConditionSign).to(charge.over);
  emit.jmp_to(charge.done);
  return true;
}

} // namespace rdb::engine
