// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/engine/watch_filter.h"

#include <algorithm>
#include <cstring>

namespace rdb::engine {
namespace {

// Calls `function` with the place in a table of each piece of memory from `first` to `last`.
template <class Function>
void each_place(uint64_t first, uint64_t last, uint8_t shift, Function&& function) {
  uint64_t count = std::min((last >> shift) - (first >> shift) + 1, WatchFilter::kTable);
  for (uint64_t i = 0; i < count; ++i)
    function(((first >> shift) + i) % WatchFilter::kTable);
}

} // namespace

void WatchFilter::add(const Watch& watch) {
  index_.add({watch.begin, watch.end, {watch.reads, watch.writes}});
  uint64_t first = watch.begin - kReach;
  uint64_t last = watch.end + kReach;
  each_place(first, last, kLineShift, [&](uint64_t place) { tables_[place] = 1; });
  each_place(first, last, kPageShift, [&](uint64_t place) { tables_[kTable + place] = 1; });
  each_place(watch.begin - (kGranule - 1), watch.end - 1, kGranuleShift,
             [&](uint64_t place) { tables_[2 * kTable + place] = 1; });
  reads_ |= watch.reads;
  writes_ |= watch.writes;
}

void WatchFilter::clear() {
  if (empty()) return;
  index_.clear();
  std::memset(tables_, 0, kTables * kTable);
  reads_ = false;
  writes_ = false;
}

bool WatchFilter::wants(uint64_t address, uint64_t size, bool reads, bool writes) const {
  return index_.any(address, address + size, [&](const auto& range) {
    return (reads && range.value.reads) || (writes && range.value.writes);
  });
}

bool WatchFilter::touches(uint64_t address, uint64_t size) {
  if (index_.any(address, address + size, [](const auto&) { return true; })) return true;
  each_place(address, address + size - 1, kLineShift, [&](uint64_t place) { unwatched_[place] = true; });
  return false;
}

bool WatchFilter::relied_on(const Watch& watch) const {
  bool result = (watch.reads && !reads_) || (watch.writes && !writes_);
  each_place(watch.begin, watch.end - 1, kLineShift, [&](uint64_t place) { result |= unwatched_[place]; });
  return result;
}

void WatchFilter::forget_answers() {
  std::fill(unwatched_.begin(), unwatched_.end(), false);
}

} // namespace rdb::engine
