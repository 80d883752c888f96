// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Of two branches that lead to the same place the optimiser makes one, by joining their conditions. What
// stood between them comes to stand in front of both, and so do labels: there they are reached on other paths
// too. The same happens to the end of a loop that is done ahead of the branch out of it. Such labels are
// found here, and have no place from then on.
#pragma once

#include "codegen-patch/labels.h"

#include "llvm/ADT/StringRef.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace llvm {
class BasicBlock;
class Function;
class Value;
} // namespace llvm

namespace rdb::codegen {

class Astray {
public:
  // Around a pass over a function that joins conditions or moves code ahead of a branch.
  void before(const llvm::Function& function);
  void after(llvm::Function& function);

private:
  // How often a label stands on each of the ways that led on from the block; none if there is but one.
  std::vector<unsigned> count_on_ways(const llvm::BasicBlock& block, const LabelCopy& label) const;

  std::map<std::pair<const llvm::BasicBlock*, LabelCopy>, unsigned> labels_;  // how many in a block
  std::map<LabelCopy, std::set<const llvm::Value*>> conditions_;              // at the end of its blocks
  std::map<const llvm::BasicBlock*, std::set<const llvm::BasicBlock*>> ways_; // that lead on from a block
};

} // namespace rdb::codegen
