// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments that can be fetched without a look at the descriptors: each is found with one addition, to a
// register or to nothing. That is what most arguments are, and all that a region in the guest's context may
// have (see fast_regions.cc).
#pragma once

#include "descriptors/descriptor.h"
#include "rdbtool/engine/engine.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rdb::debug {

struct FastArgument {
  const uint64_t* base; // a register
  uint64_t offset;
  bool is_address;   // the sum is where the value is; else it is the value
  uint64_t copy = 0; // of the value

  // What the debug function is to be given.
  [[gnu::always_inline]] void* fetch() {
    copy = *base + offset;
    return is_address ? reinterpret_cast<void*>(copy) : &copy;
  }
};

// Nothing if one of them is of another kind. `registers` is where the registers are when they are fetched.
std::optional<std::vector<FastArgument>>
fast_arguments(std::span<const descriptors::Argument* const> arguments, const engine::Registers& registers,
               uint64_t bias);

} // namespace rdb::debug
