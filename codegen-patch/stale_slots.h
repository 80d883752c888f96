// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A variable that leaves memory takes its values from the writes as they stand then. If passes have moved or
// removed some of them already, what its records say at a label is not what the source says. So that is asked
// right before: of which variables is memory stale at which labels?
#pragma once

#include "codegen-patch/pieces.h"
#include "codegen-patch/write_tags.h"
#include "llvm-passes/extractor/extraction.h"

#include <map>
#include <utility>
#include <vector>

namespace llvm {
class DbgLabelRecord;
class Function;
} // namespace llvm

namespace rdb::codegen {

class StaleSlots {
public:
  StaleSlots(const extractor::Extraction& extraction, const WriteTags& tags)
      : extraction_(extraction), tags_(tags) {}

  // Looks at a function whose variables may leave memory next.
  void find(llvm::Function& function);

  // Were any of these bits of that argument stale at the label, in memory?
  bool contains(const llvm::DbgLabelRecord& label, size_t position, const Extent& bits) const;

private:
  const extractor::Extraction& extraction_;
  const WriteTags& tags_;
  std::map<std::pair<const llvm::DbgLabelRecord*, size_t>, std::vector<Extent>> stale_;
};

} // namespace rdb::codegen
