// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Most of the cost of a short piece of debug code is to give it an FS base and vector registers of its own.
// Much debug code needs neither. To find out, all machine code that it can reach is examined; what is not
// known for sure counts as needing them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace rdb::debug {

// The executable segment of a loaded file that holds an address.
std::span<const uint8_t> code_around(const void* address);

// What has to be known about the module besides its code.
struct PlainCodeRules {
  const void* needs_libc = nullptr; // what comes after a call of this is not looked at
  // The word at this address, if it never changes; else 0. Debug code calls functions through such words.
  std::function<uint64_t(uint64_t address)> constant;
};

// True if the function, and whatever it calls, touches the general registers, flags and memory only: no
// thread-local storage, no vector or x87 register (to store one is harmless), nothing outside of its module.
bool is_plain_code(const void* function, const PlainCodeRules& rules);

} // namespace rdb::debug
