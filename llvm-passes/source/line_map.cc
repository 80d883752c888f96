// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See line_map.h.
#include "llvm-passes/source/line_map.h"

#include <algorithm>

namespace rdb::source {

LineMap::LineMap(std::vector<LineRange> removed) {
  std::ranges::sort(removed, {}, &LineRange::first);
  for (const LineRange& range : removed) {
    if (!removed_.empty() && range.first <= removed_.back().last + 1)
      removed_.back().last = std::max(removed_.back().last, range.last);
    else
      removed_.push_back(range);
  }
  unsigned gone = 0;
  for (const LineRange& range : removed_)
    gone_.push_back(gone += range.last - range.first + 1);
}

unsigned LineMap::gone_before(size_t range) const {
  return range == 0 ? 0 : gone_[range - 1];
}

unsigned LineMap::to_edited(unsigned stripped) const {
  // The line that would precede a range in the stripped file grows from range to range.
  size_t begin = 0, end = removed_.size();
  while (begin < end) {
    size_t middle = begin + (end - begin) / 2;
    if (removed_[middle].first - gone_before(middle) > stripped)
      end = middle;
    else
      begin = middle + 1;
  }
  return stripped + gone_before(begin);
}

size_t LineMap::ranges_begun_at(unsigned edited) const {
  auto next = std::ranges::upper_bound(removed_, edited, {}, &LineRange::first);
  return static_cast<size_t>(next - removed_.begin());
}

std::optional<unsigned> LineMap::to_stripped(unsigned edited) const {
  size_t ranges = ranges_begun_at(edited);
  if (ranges > 0 && removed_[ranges - 1].last >= edited) return std::nullopt;
  return edited - gone_before(ranges);
}

unsigned LineMap::next_stripped(unsigned edited) const {
  size_t ranges = ranges_begun_at(edited);
  if (ranges > 0 && removed_[ranges - 1].last >= edited)
    return removed_[ranges - 1].first - gone_before(ranges - 1);
  return edited - gone_before(ranges);
}

} // namespace rdb::source
