// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A variable need not be in one place, nor all of it anywhere: the optimiser takes structures apart, and what
// the program does not need of them is gone. A region that does not read that part can do without it, too.
#pragma once

#include "descriptors/descriptor.h"
#include "llvm-passes/extractor/extraction.h"

#include <cstdint>
#include <vector>

namespace rdb::codegen {

// Bytes or bits of a variable.
struct Extent {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
  bool contains(const Extent& other) const { return begin <= other.begin && other.end <= end; }
  auto operator<=>(const Extent&) const = default;
};

// What none of `ranges` covers of `whole`, in order.
std::vector<Extent> gaps_in(const Extent& whole, std::vector<Extent> ranges);

// Does the region read any of these bytes of the variable? One that reads nothing of it wants its address,
// and then all of it is asked for.
bool is_read(const extractor::Variable& variable, const Extent& bytes);

// All that is known of an argument, in any order, as its parts from the first byte to the last. If something
// that the region reads is missing, nothing is left but the reason.
std::vector<descriptors::Part> put_together(std::vector<descriptors::Part> known,
                                            const extractor::Variable& variable);

} // namespace rdb::codegen
