// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is to be done when the program comes to an address where regions belong.
#pragma once

#include "rdbtool/debug/regions/attached_bundle.h"
#include "rdbtool/debug/regions/fast_arguments.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace rdb::debug {

class Regions;

// One instance of a region, ready to be called: a region has several where its code was inlined or unrolled.
struct RegionInstance {
  AttachedBundle* attached = nullptr;
  DebugFunction function = nullptr;
  RegionCount* count = nullptr;
  std::vector<const descriptors::Argument*> arguments; // by position; null: not described
  std::vector<void*> values;                           // what the function is given
  bool is_fast = false;                                // it can be run in the guest's context
  std::vector<FastArgument> fast;                      // its arguments then
};

struct HookedAddress {
  Regions* regions = nullptr;
  std::vector<std::pair<const AttachedBundle*, uint32_t>> activations; // that begin here
  std::vector<RegionInstance> before;                                  // the instruction there
  std::vector<RegionInstance> after;

  bool empty() const { return activations.empty() && before.empty() && after.empty(); }
  // Is there one region to be called, and nothing else to do?
  [[gnu::always_inline]] bool is_simple() const {
    return before.size() == 1 && after.empty() && activations.empty();
  }
};

} // namespace rdb::debug
