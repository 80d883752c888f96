// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/watch_filter.h"

#include <algorithm>
#include <cstring>

namespace rdb::engine {
namespace {

void mark(uint8_t* table, uint64_t first, uint64_t last, uint8_t shift) {
  uint64_t count = std::min((last >> shift) - (first >> shift) + 1, WatchFilter::kTable);
  for (uint64_t i = 0; i < count; ++i)
    table[((first >> shift) + i) % WatchFilter::kTable] = 1;
}

} // namespace

void WatchFilter::add(const Watch& watch) {
  watches_.push_back(watch);
  uint64_t first = watch.begin - kReach;
  uint64_t last = watch.end + kReach;
  mark(tables_, first, last, kLineShift);
  mark(tables_ + kTable, first, last, kPageShift);
}

void WatchFilter::clear() {
  if (watches_.empty()) return;
  watches_.clear();
  std::memset(tables_, 0, 2 * kTable);
}

bool WatchFilter::touches(uint64_t address, uint64_t size) const {
  return std::any_of(watches_.begin(), watches_.end(),
                     [&](const Watch& watch) { return address < watch.end && address + size > watch.begin; });
}

} // namespace rdb::engine
