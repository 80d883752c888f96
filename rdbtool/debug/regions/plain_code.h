// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds out whether debug code can do without the two things that make calling it expensive.
//
// While translated code runs, the FS base and the vector registers are the program's. libc needs an FS base
// of its own (errno, locks, the stack protector are found through it), and compilers use vector registers
// wherever they please, for copying or for a double. To save them and to load rdb's takes longer than most
// debug functions run. But much debug code needs neither: "if (node->count < 0) found++" is a few moves and a
// compare.
//
// No annotation tells which is which, and a mistake would corrupt the program silently. So the machine code
// decides: from the function's first instruction on, everything that it can reach is decoded, through
// branches, calls, and calls through words that are known never to change. Each instruction must be one of
// a list of harmless kinds, with general registers and ordinary memory as operands. Whatever is not known for
// sure (an indirect jump, a call out of the module, too many instructions) counts as needing both.
//
// Nearly all debug code prints at times. For that the module calls a function of its own before it uses libc
// (PlainCodeRules::needs_libc), by which rdb makes up for what it has left out; the walk ends at such a call.
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
