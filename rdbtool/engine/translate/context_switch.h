// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The routines that switch between host and translated code, written into the code cache when it is made.
//
// The problem: host and guest share the thread that they run on, but nothing else. The guest's registers may
// hold anything, its stack pointer may point to nothing, and both use the FS base and the vector registers
// for their own purposes. No compiled function can be called in that state, and to save all of it takes far
// longer than most of what the host is called for.
//
// The trick is to save in two steps, and to do the second one only if it is needed:
//   1. flags and general registers go to State, which is found relative to rip, and the stack becomes the
//      host's own. Now code can run that uses general registers only and nothing thread-local.
//   2. the FS base and the vector registers follow. Now any code of the host can run.
//
//   enter        from the host: loads everything, and jumps to State::resume
//   leave        to the host: steps 1 and 2, and a return to whoever called enter()
//   fast_leave   step 1, then State::fast_entry. It says where the guest goes on; or declines by returning 0,
//                and then step 2 and the return follow as in leave
//   hook         steps 1 and 2, then State::hook_entry, which may likewise say where the guest goes on
//   fast_hook    step 1, then State::fast_hook_entry. It may do step 2 itself, in the middle, by to_host
//
// State::in_fast_call is set between the steps, so that signal handlers know in which state they are.
#pragma once

#include "rdbtool/engine/cpu.h"
#include "rdbtool/engine/state.h"
#include "rdbtool/engine/translate/emit.h"

namespace rdb::engine {

struct ContextSwitch {
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
ContextSwitch emit_context_switch(Emitter& emit, State& state, const Cpu& cpu, uint32_t miss_exit);

} // namespace rdb::engine
