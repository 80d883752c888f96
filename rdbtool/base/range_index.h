// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which of many ranges of addresses are touched by an access: sorted by where they begin, each with the
// furthest end of those before it, so that a search can stop early. Ranges may overlap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rdb {

template <class Value>
class RangeIndex {
public:
  struct Range {
    uint64_t begin, end;
    Value value;
  };

  bool empty() const { return ranges_.empty(); }
  const std::vector<Range>& ranges() const { return ranges_; }

  void clear() {
    ranges_.clear();
    furthest_.clear();
  }

  void add(Range range) {
    auto place = std::upper_bound(ranges_.begin(), ranges_.end(), range.begin,
                                  [](uint64_t begin, const Range& r) { return begin < r.begin; });
    auto index = static_cast<size_t>(place - ranges_.begin());
    ranges_.insert(place, std::move(range));
    note_furthest(index);
  }

  template <class Predicate>
  void remove_if(Predicate&& predicate) {
    std::erase_if(ranges_, predicate);
    note_furthest(0);
  }

  // Calls `function` with every range that has a byte in [begin, end), until it answers true. Whether it did.
  template <class Function>
  bool any(uint64_t begin, uint64_t end, Function&& function) const {
    auto behind = std::lower_bound(ranges_.begin(), ranges_.end(), end,
                                   [](const Range& r, uint64_t address) { return r.begin < address; });
    for (auto left = static_cast<size_t>(behind - ranges_.begin()); left > 0; --left) {
      if (furthest_[left - 1] <= begin) return false;
      const Range& range = ranges_[left - 1];
      if (range.end > begin && function(range)) return true;
    }
    return false;
  }

private:
  void note_furthest(size_t from) {
    furthest_.resize(ranges_.size());
    for (size_t i = from; i < ranges_.size(); ++i)
      furthest_[i] = std::max(ranges_[i].end, i > 0 ? furthest_[i - 1] : 0);
  }

  std::vector<Range> ranges_;
  std::vector<uint64_t> furthest_; // the largest end up to here
};

} // namespace rdb
