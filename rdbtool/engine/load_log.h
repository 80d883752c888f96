// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a guest loads, noted in the same log as what its stores overwrite (TranslatorOptions::log_loads).
//
// Who runs code again wants to know which memory it depends on: what it has read before it wrote there. For
// that a load must never be noted that did not happen. Where an instruction may read less than its operand
// says, what is noted is what it reads for sure: nothing for masked loads and for instructions that restore
// the extended state, and the elements up to the one that decides for string instructions that compare.
#pragma once

#include "rdbtool/engine/instructions/operand.h"
#include "rdbtool/engine/store_log.h"

#include <vector>

namespace rdb::engine {

// How an instruction's loads can be logged.
struct LoadForm {
  bool by_host = false; // the host finds out what it touches
  int places = 0;
  AccessPlan::Place place[3];
};
LoadForm load_form(const Instruction& instruction);

// Emits what logs a load from such a place. `map` as for emit_store_log().
void emit_load_log(Emitter& emit, State& state, const Instruction& instruction,
                   const AccessPlan::Place& place, const std::function<void(uint8_t spill)>& map);

// What the instruction is about to read, from the engine's registers.
std::vector<MemoryAccess> loads_of(const Instruction& instruction, Engine& engine, GuestMemory& memory);

} // namespace rdb::engine
