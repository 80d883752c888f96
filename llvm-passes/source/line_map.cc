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
}

unsigned LineMap::to_edited(unsigned stripped) const {
  unsigned line = stripped;
  for (const LineRange& range : removed_) {
    if (range.first > line) break;
    line += range.last - range.first + 1;
  }
  return line;
}

std::optional<unsigned> LineMap::to_stripped(unsigned edited) const {
  unsigned gone = 0;
  for (const LineRange& range : removed_) {
    if (range.first > edited) break;
    if (range.last >= edited) return std::nullopt;
    gone += range.last - range.first + 1;
  }
  return edited - gone;
}

unsigned LineMap::next_stripped(unsigned edited) const {
  unsigned gone = 0;
  for (const LineRange& range : removed_) {
    if (range.first > edited) break;
    if (range.last >= edited) return range.first - gone;
    gone += range.last - range.first + 1;
  }
  return edited - gone;
}

} // namespace rdb::source
