// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run whose threads all live in one OS thread can be forked at any time. As a check that this holds, such a
// run is forked at random places: each copy goes on to the end, and must end as the run itself does.
#pragma once

#include "rdbtool/guest/process/machine.h"

#include <random>
#include <vector>

namespace rdb::guest {

class Copies {
public:
  explicit Copies(const TurnOptions& options);

  // When the next one is made, in executed instructions.
  uint64_t next() const { return next_; }
  bool due(uint64_t executed) const { return executed >= next_; }
  // Comes back in both processes, in the original when the copy has ended.
  void make();
  // The run is over: all copies must have ended in this way.
  void check(const Ending& ending) const;

private:
  uint64_t interval_;
  uint64_t next_ = UINT64_MAX;
  std::mt19937_64 random_;
  std::vector<int> statuses_; // as waitpid gives them
};

} // namespace rdb::guest
