// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lines of an edited file against the lines of the same file without its regions. Kept as the list of
// removed ranges: that is small, easy to write down, and answers both questions.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace rdb::source {

// Lines first..last of the edited file, both included, 1-based.
struct LineRange {
  unsigned first;
  unsigned last;
  bool operator==(const LineRange&) const = default;
};

class LineMap {
public:
  LineMap() = default;
  // Ranges may come in any order and touch or overlap; they are merged.
  explicit LineMap(std::vector<LineRange> removed);

  // The edited file's line of a line of the stripped file.
  unsigned to_edited(unsigned stripped) const;
  // The stripped file's line; nothing for a removed line.
  std::optional<unsigned> to_stripped(unsigned edited) const;
  // The stripped file's line of the first line at or after `edited` that was not removed.
  unsigned next_stripped(unsigned edited) const;

  bool is_removed(unsigned edited) const { return !to_stripped(edited); }
  const std::vector<LineRange>& removed() const { return removed_; }

private:
  // How many ranges begin at this line or before it.
  size_t ranges_begun_at(unsigned edited) const;
  // How many lines the ranges before this one have, all together.
  unsigned gone_before(size_t range) const;

  std::vector<LineRange> removed_; // sorted, disjoint, not touching
  std::vector<unsigned> gone_;     // lines of each range and all those before it
};

} // namespace rdb::source
