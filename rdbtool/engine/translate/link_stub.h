// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An exit in the middle of a path must settle what was charged, and the block it leads to is charged again:
// two changes of the budget, and flags to be kept in between. A link stub is a copy of that block's
// beginning, up to its charge, in which both amounts are charged at once, where the flags are dead anyway.
#pragma once

#include "rdbtool/engine/block.h"
#include "rdbtool/engine/state.h"
#include "rdbtool/engine/translate/emit.h"

#include <vector>

namespace rdb::engine {

// `owed` instructions are executed and not charged at the exit. False: this block cannot have one, and
// nothing was written that counts.
bool emit_link_stub(Emitter& emit, State& state, int32_t owed, const Block& target,
                    std::vector<MapEntry>& map);

} // namespace rdb::engine
