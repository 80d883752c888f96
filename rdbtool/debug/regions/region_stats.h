// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What has become of a region, or of another piece of debug code.
#pragma once

#include <cstdint>
#include <string>

namespace rdb::debug {

inline constexpr const char kCallbackPlace[] = "an event's callback";

struct RegionCount {
  std::string place; // file:line
  uint64_t hits = 0;
  uint64_t ticks = 0;    // of the CPU's clock, if they are counted
  uint64_t skipped = 0;  // an argument was unavailable
  uint64_t lines = 0;    // of output, if they are counted
  uint64_t callback = 0; // of an event: which, counted from 1; 0: a region
  std::string disabled;  // why it does not run any more
};

} // namespace rdb::debug
