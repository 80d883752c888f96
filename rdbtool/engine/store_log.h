// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a guest's stores overwrite, kept so that they can be undone: translated code writes an entry before
// each store (TranslatorOptions::log_stores). Played backwards, the entries give the old memory again.
#pragma once

#include "rdbtool/engine/translate/emit.h"

#include <cstdint>
#include <functional>

namespace rdb::engine {

struct State;

// Larger stores have several entries.
struct StoreLogEntry {
  uint64_t address;
  uint32_t size; // at most 8
  uint32_t unused;
  uint64_t old;
};

// How a store can be logged.
struct StoreForm {
  enum class Kind : uint8_t {
    none,    // the instruction writes no memory
    operand, // to its explicit operand
    stack,   // a push
    host,    // anything else: the host finds out what it touches
  } kind = Kind::none;
  uint32_t size = 0;
};
StoreForm store_form(const Instruction& instruction);

// Emits what logs a store of the form `operand` or `stack`. `map` is called with the registers that are in
// State's slots from there on.
void emit_store_log(Emitter& emit, State& state, const Instruction& instruction, const StoreForm& form,
                    const std::function<void(uint8_t spill)>& map);

} // namespace rdb::engine
