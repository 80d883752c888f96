// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a replay stops on its way, and what its next instruction touches. A debugger sets its breakpoints and
// watchpoints here and need not know the engine.
#pragma once

#include "rdbtool/base/types.h"

#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace rdb::replay {

class Replayer;

struct WatchedRange {
  GuestAddr address;
  uint64_t size = 0;
  bool reads = false, writes = false;
};

struct TouchedRange {
  GuestAddr address;
  uint64_t size = 0;
  bool is_read = false, is_written = false;
};

class ReplayStops {
public:
  explicit ReplayStops(Replayer& replayer) : replayer_(replayer) {}

  // Replaces all stops: Replayer::advance() ends before an instruction at one of the addresses, and before
  // one that accesses a watched range.
  void set(std::set<uint64_t> addresses, std::span<const WatchedRange> watched);
  bool has(uint64_t address) const { return addresses_.contains(address); }

  // The memory that the next instruction reads and writes. The engine never stops at the first instruction of
  // a run, so whoever goes on from here looks at that one first.
  std::vector<TouchedRange> next_touched() const;

private:
  Replayer& replayer_;
  std::set<uint64_t> addresses_; // that the engine has
  bool watching_ = false;
};

} // namespace rdb::replay
