// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that functions of the program allocate when debug code calls them. Debug code may write to it before
// the region ends (it puts something into a vector that it was given), and such writes are not observed. So
// the old contents of a block are saved when it is allocated: the engine stops where the program's allocators
// begin and where they return to.
#pragma once

#include "rdbtool/engine/translator.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace rdb::debug {

class GuestLibc;

class GuestHeap {
public:
  GuestHeap(engine::Translator& engine, const GuestLibc& libc) : engine_(engine), libc_(libc) {}
  // Before the first call of a region.
  void begin();

  struct Allocation {
    uint64_t begin;
    uint64_t size;
  };
  // The engine has stopped before an address. If a block was just allocated: that.
  std::optional<Allocation> stopped();

private:
  struct AllocatorCall {
    uint64_t back; // where it returns to
    uint64_t sp;   // when it has
  };
  engine::Translator& engine_;
  const GuestLibc& libc_;
  std::vector<uint64_t> functions_;  // at which the engine stops
  std::vector<AllocatorCall> calls_; // of these
};

} // namespace rdb::debug
