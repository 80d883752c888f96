// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hashes of a guest's state, to prove that two runs are the same run.
#pragma once

#include "rdbtool/base/hash.h"
#include "rdbtool/guest/process/machine.h"

#include <cstddef>

namespace rdb::guest {

// All memory that the guest can write. Pages of zeroes do not count, so that it makes no difference whether
// one was ever touched.
struct MemoryHash {
  uint64_t value = 0;
  uint64_t pages = 0; // that hold something other than zeroes
  bool operator==(const MemoryHash&) const = default;
};
MemoryHash hash_memory(AddressSpace& space);

// The table of mappings.
uint64_t hash_mappings(const AddressSpace& space);

struct StateHash {
  uint64_t memory = 0;
  uint64_t registers = 0;
  uint64_t pages = 0; // that hold something other than zeroes
  bool operator==(const StateHash&) const = default;
};

// All memory that the guest can write, and all threads' registers.
StateHash hash_state(Machine& machine);

// All registers of the current thread.
uint64_t hash_registers(Machine& machine);

// The words that every system call is checked by: number, arguments and all other general registers.
[[gnu::always_inline]] inline uint64_t hash_call(const engine::Registers& registers) {
  static_assert(offsetof(engine::Registers, rip) == 128 && offsetof(engine::Registers, rflags) == 136);
  return hash_words(reinterpret_cast<const uint64_t*>(&registers), 18);
}

} // namespace rdb::guest
