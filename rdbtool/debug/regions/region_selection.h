// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which regions run, and when: --only, --from, --until, --max-hits.
#pragma once

#include "descriptors/descriptor.h"
#include "rdbtool/debug/regions/region_stats.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rdb::debug {

struct RegionOptions {
  std::vector<std::string> only; // "file.c:LINE", "LINE" or "file.c": just the regions that cover these
  uint64_t from = 0;             // times between which regions run
  uint64_t to = UINT64_MAX;
  uint64_t max_hits = UINT64_MAX; // of each region
  bool report_skipped = true;     // say when a region does not run for want of a value
};

// The path of the source file that the region is in, as the compiler named it.
std::string source_of(const descriptors::Descriptors& descriptors, const descriptors::Region& region);

class RegionSelection {
public:
  explicit RegionSelection(const RegionOptions& options) : options_(options) {}

  // Throws UserError if some option selects none of the regions of these bundles.
  void check(std::span<const descriptors::Descriptors* const> bundles) const;
  // Is it one of those that --only names? `file` is its source.
  bool selects(const descriptors::Region& region, const std::string& file) const;
  // Does a region with these hits run at this time? Also for code in the guest's context.
  [[gnu::always_inline]] bool allows(const RegionCount& count, uint64_t now) const {
    return count.disabled.empty() && count.hits < options_.max_hits && now >= options_.from &&
           now <= options_.to;
  }
  bool reports_skipped() const { return options_.report_skipped; }

private:
  RegionOptions options_;
};

} // namespace rdb::debug
