// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The few routines between host and translated code, written into the code cache when it is made.
#pragma once

#include "rdbtool/engine/cpu.h"
#include "rdbtool/engine/state.h"
#include "rdbtool/engine/translate/emit.h"

namespace rdb::engine {

struct Glue {
  void (*enter)() = nullptr;     // loads the guest's registers and jumps to State::resume
  uint8_t* leave = nullptr;      // saves the guest's registers and returns from enter()
  uint8_t* fast_leave = nullptr; // the same, but the host may go on at once: see State::fast_entry
  uint8_t* hook = nullptr;       // calls State::hook_entry with all of the guest's state saved
  // The same, but calls State::fast_hook_entry first. If that returns 0, and has not called `to_host`,
  // hook_entry is called as well.
  uint8_t* fast_hook = nullptr;
  void (*to_host)() = nullptr; // from there: saves what is the guest's still, and loads the host's FS base
  uint8_t* indirect_miss = nullptr; // rcx holds a guest address that the indirect table does not have
};

// `miss_exit` is the exit number that tells the host of an indirect miss.
Glue emit_glue(Emitter& emit, State& state, const Cpu& cpu, uint32_t miss_exit);

} // namespace rdb::engine
