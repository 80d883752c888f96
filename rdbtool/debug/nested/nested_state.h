// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All registers of a guest thread, x87 included, to be put into another engine and taken out of it again.
//
// The problem with x87 is that both engines leave it in the CPU, and that most programs do not use it, while
// saving it costs more than everything else together. An engine knows whether code that may use it was ever
// executed, so it is saved and loaded only then.
#pragma once

#include "rdbtool/engine/translator.h"

#include <cstddef>

namespace rdb::debug {

struct NestedState {
  engine::ThreadRegisters registers;
  bool uses_x87 = false;
  alignas(16) std::byte x87[512]; // as fxsave64 stores it, of which the vector registers do not count

  // The thread that the engine has loaded. The CPU must hold its x87 state.
  void take(engine::Translator& engine);
  // Loads it into an engine, and into the CPU what belongs there.
  void give(engine::Translator& engine) const;
  // Another engine has run with it: the CPU's part is put back.
  void end(const engine::Translator& engine) const;
};

// The two registers that functions return x87 values in, if they hold something: ten bytes each.
struct X87Results {
  bool has[2] = {};
  std::byte value[2][10] = {};
};
// From the CPU.
X87Results x87_results();

// The lower halves of xmm0 to xmm7, eight words. Changes no register.
void store_low_vectors(uint64_t* to);

// As the host wants it.
void clear_x87();

} // namespace rdb::debug
