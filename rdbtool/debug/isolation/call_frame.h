// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The registers of a call that crosses the border between debug code and what it calls, in either direction,
// whatever the function's arguments are.
#pragma once

#include <cstdint>

namespace rdb::debug {

// The registers of a call as the stub saves them.
struct CallFrame {
  uint64_t integer[6];   // rdi rsi rdx rcx r8 r9
  uint64_t vector_count; // al
  uint64_t result[2];    // rax rdx
  bool is_wide;          // there is something in upper halves of the vectors that are to be loaded
  bool is_always_watched;
  alignas(32) uint8_t vector[8][32];
  const uint64_t* stack_arguments;
  uint64_t stack_size; // of a call out of the guest: how much of it is copied
};

// Where calls to guest addresses go, with the address in r11; and those that are watched (guarded_call.h).
void* nested_call_stub();
// The same for calls that are watched whatever they are given.
void* always_watched_stub();
// Arguments beyond the registers are somewhere in the caller's part of the stack, of which at most this much
// is copied.
inline constexpr uint64_t kMostArguments = 1u << 16;

// Calls a host function with the frame's argument registers; the results go back into it.
void call_host(CallFrame& frame, uint64_t function);

// The CPU has wide vector registers, which are passed on.
void set_wide_vectors(bool has_them);

} // namespace rdb::debug
