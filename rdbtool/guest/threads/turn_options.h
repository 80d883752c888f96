// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How threads take turns.
#pragma once

#include <cstdint>

namespace rdb::guest {

struct TurnOptions {
  static constexpr uint64_t kDefaultChunk = 8'000'000;

  uint64_t chunk = kDefaultChunk; // instructions of a turn while others wait
  bool chaos = false;             // random lengths, order, priorities and wake-ups, from the seed
  uint64_t seed = 0;
  bool one_thread = false; // all guest threads in one OS thread
  // Then: about so many instructions apart, the process is forked, and the copy goes on to the end by itself.
  uint64_t copy_interval = 0;
};

} // namespace rdb::guest
