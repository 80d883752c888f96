// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An interrupt takes effect through the instruction budget: a large amount is taken from it, so that the next
// charge finds it negative. The amount is recognisable, since no budget is ever so negative by itself.
#pragma once

#include <cstdint>

namespace rdb::engine {

inline constexpr int64_t kInterruptBias = 1ll << 40;

inline int64_t without_bias(int64_t budget) {
  if (budget >= -kInterruptBias / 2) return budget;
  int64_t times = (-budget + kInterruptBias / 2) / kInterruptBias;
  return budget + times * kInterruptBias;
}

} // namespace rdb::engine
