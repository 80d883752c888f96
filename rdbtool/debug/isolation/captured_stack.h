// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where debug code was when something happened, captured to be reported after its stack has been reused.
#pragma once

#include "rdbtool/engine/engine.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rdb::debug {

// Memory for what is told of one place. Nothing is taken from the heap: debug code may have broken it.
using StackRoom = std::array<std::byte, 256 * 1024>;

// With a copy of the stack from `stack_begin` on.
struct Whereabouts {
  engine::Registers registers; // rip is 0 if it is not known
  uint64_t stack_begin = 0;
  std::span<const std::byte> stack;
};
// Where a signal handler's context was; it stays valid until the room is used again.
Whereabouts whereabouts(void* context, StackRoom& room);

// An exception is thrown, perhaps once more: the unwinder is about to look for who catches it.
void note_throw(const void* exception);
// In a handler: where the exception came from that it has caught.
Whereabouts place_of_throw();

} // namespace rdb::debug
