// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Have the recorded function and its twin done the same?
//
// Both were run from the same state. What they leave behind is compared in both directions: every byte that
// the twin has written must have the value that the recorded function leaves there, and every byte that the
// recorded function has changed must have been written by the twin. A few differences mean nothing, and are
// passed over:
// - words that point into the stack frames of the call, which lie elsewhere in a twin and are gone;
// - pointers to constants with the same content, of which there may be several;
// - what the dynamic linker has written to its tables meanwhile;
// - blocks that were freed in the call, and jump buffers, which hold registers of the compiler's choice.
#pragma once

#include "rdbtool/debug/nested/nested_run.h"
#include "rdbtool/debug/twins/twin_facts.h"
#include "rdbtool/guest/memory/address_space.h"
#include "rdbtool/guest/memory/layout.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rdb::debug {

// What the comparison has to know of the call.
struct CheckedCall {
  uint64_t stack_begin = 0; // of the frames of the call
  uint64_t stack_end = 0;
  std::vector<guest::AddressRange> ignored; // memory that does not count
  const std::vector<ResultPart>* result = nullptr;
  bool compares_result = true;
};

struct Difference {
  enum class Kind : uint8_t { none, memory, result } kind = Kind::none;
  uint64_t address = 0; // of the word, for memory
  uint64_t recorded = 0;
  uint64_t twin = 0;
  explicit operator bool() const { return kind != Kind::none; }
};

// The first one. The memory is as it was at the entry of the function.
Difference compare_outcomes(const CheckedCall& call, const NestedResult& recorded, const NestedResult& twin,
                            guest::AddressSpace& space);

} // namespace rdb::debug
