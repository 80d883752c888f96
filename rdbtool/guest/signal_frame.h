// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signal frames in the kernel's layout: what a handler finds on its stack, and what sigreturn takes back.
#pragma once

#include "rdbtool/engine/engine.h"

#include <csignal>
#include <cstdint>

namespace rdb::guest {

// As the rt_sigaction system call takes it.
struct SignalAction {
  uint64_t handler = 0;
  uint64_t flags = 0;
  uint64_t restorer = 0;
  uint64_t mask = 0;
};

struct AlternateStack {
  uint64_t base = 0;
  int32_t flags = SS_DISABLE;
  uint64_t size = 0;
};

struct PendingSignal {
  int number = 0;
  siginfo_t info = {};
  uint64_t trap_number = 0;
  uint64_t error_code = 0;
  uint64_t fault_address = 0; // cr2
};

// Builds the frame, points the registers at the handler and gives it fresh x87 and vector state. `mask` is
// what sigreturn will restore. False if the stack cannot take it.
bool push_signal_frame(engine::Engine& engine, engine::GuestMemory& memory, const SignalAction& action,
                       const AlternateStack& stack, uint64_t mask, const PendingSignal& signal);

// The other way round: false if the frame cannot be read. `mask` and `stack` get what the frame holds.
bool pop_signal_frame(engine::Engine& engine, engine::GuestMemory& memory, uint64_t& mask,
                      AlternateStack& stack);

// The x87 and vector state of a new program, and of a signal handler.
void reset_vectors(engine::Engine& engine);

// Never so for a stack that is disarmed when a handler begins: a program that is there has left it.
bool on_alternate_stack(const AlternateStack& stack, uint64_t sp);

} // namespace rdb::guest
