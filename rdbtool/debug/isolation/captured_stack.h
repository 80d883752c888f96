// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where debug code was when something happened, captured to be reported after its stack has been reused.
#pragma once

#include "rdbtool/engine/engine.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rdb::debug {

// Memory for one copy of a stack. Nothing is taken from the heap: debug code may have broken it.
using StackRoom = std::array<std::byte, 256 * 1024>;

// Registers, and a copy of the stack from `stack_begin` on.
struct CapturedStack {
  engine::Registers registers; // rip is 0 if it is not known
  uint64_t stack_begin = 0;
  std::span<const std::byte> stack;
};
// Of a signal handler's context (or getcontext()'s), out to where rdb has called debug code. Valid until the
// room is used again.
CapturedStack capture_stack(void* context, StackRoom& room);

// Where an exception was thrown.
struct NotedThrow {
  const void* exception;
  uint64_t run; // of debug code
  CapturedStack stack;
  StackRoom room;
};
// An exception is thrown, perhaps once more: the unwinder is about to look for who catches it.
void note_throw(const void* exception);
// To be called where an exception is caught: where it was thrown.
CapturedStack stack_of_throw();

} // namespace rdb::debug
