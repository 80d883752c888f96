// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a guest's stores overwrite, kept so that they can be undone: translated code writes an entry before
// each store (TranslatorOptions::log_stores). Played backwards, the entries give the old memory again. Loads
// can have entries of their own among them (load_log.h): then the log tells what was read before it was
// written.
#pragma once

#include "rdbtool/engine/translate/emit.h"

#include <cstdint>
#include <functional>

namespace rdb::engine {

struct State;

struct StoreLogEntry {
  enum class Kind : uint16_t {
    store, // at most 8 bytes; larger stores have several entries
    more,  // a further part of the store before
    load,  // of any size, and nothing in `old`
  };
  uint64_t address;
  uint16_t size;
  Kind kind;
  uint32_t unused;
  uint64_t old;
};

// An instruction that translated code logs by itself writes at most this many entries. What the host logs may
// have any number; it sees to it that there is room for the rest of a run.
inline constexpr size_t kMostLogEntries = 12;

// The two as translated code writes them, at once.
constexpr uint32_t size_and_kind(uint32_t size, StoreLogEntry::Kind kind) {
  return size | static_cast<uint32_t>(kind) << 16;
}

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
