// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signal frames in the kernel's layout: what a handler finds on its stack, and what sigreturn takes back.
#pragma once

#include "rdbtool/engine/engine.h"

#include <array>
#include <csignal>
#include <cstdint>
#include <optional>

namespace rdb::guest {

inline constexpr int kAutoDisarm = 1 << 31; // SS_AUTODISARM
inline constexpr uint64_t kPageFault = 14;  // the number of its trap

// As the rt_sigaction system call takes it.
struct SignalAction {
  uint64_t handler = 0;
  uint64_t flags = 0;
  uint64_t restorer = 0;
  uint64_t mask = 0;
};

using SignalActions = std::array<SignalAction, 65>; // by number

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
  bool resumes = false; // the CPU has set the flag for an instruction that is executed again: deliver() knows
};

// Where the frame of a signal is to be, the vector state at its end included.
struct FramePlace {
  uint64_t begin = 0;
  uint64_t vectors = 0;
  uint64_t end = 0;
  bool fits = true; // into its alternate stack, if it has one
};
FramePlace place_of_frame(const engine::Registers& regs, size_t vector_size, const SignalAction& action,
                          const AlternateStack& stack);
// Where the frame is that the handler which now returns was given. The frame says where its vectors are.
FramePlace frame_to_return_from(engine::Engine& engine, engine::GuestMemory& memory);

// Builds the frame, points the registers at the handler and gives it fresh x87 and vector state. `mask` is
// what sigreturn will restore. False if the stack cannot take it.
bool push_signal_frame(engine::Engine& engine, engine::GuestMemory& memory, const SignalAction& action,
                       const AlternateStack& stack, uint64_t mask, const PendingSignal& signal);

// The other way round, in two parts, since the kernel (6.12 and newer) restores one after the other: what
// could be read before one of them fails counts. False if the frame cannot be used.
struct ReturnedFrame {
  std::optional<uint64_t> mask;
  std::optional<AlternateStack> stack;
};
bool read_returned(engine::Engine& engine, engine::GuestMemory& memory, ReturnedFrame& frame);
// The registers, and then the x87 and vector state.
bool pop_signal_frame(engine::Engine& engine, engine::GuestMemory& memory);

// The x87 and vector state of a new program, and of a signal handler.
void reset_vectors(engine::Engine& engine);

// Never so for a stack that is disarmed when a handler begins: a program that is there has left it.
bool on_alternate_stack(const AlternateStack& stack, uint64_t sp);

} // namespace rdb::guest
