// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long translation takes, for the statistics.
#pragma once

#include <cstdint>
#include <immintrin.h>

namespace rdb::engine {

// Adds the time until its end to a sum of CPU ticks: a clock that costs nothing beside a translation.
class Timed {
public:
  explicit Timed(uint64_t& sum) : sum_(sum), start_(__rdtsc()) {}
  ~Timed() { sum_ += __rdtsc() - start_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

private:
  uint64_t& sum_;
  uint64_t start_;
};

} // namespace rdb::engine
