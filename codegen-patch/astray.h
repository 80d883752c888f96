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
  using Labels = std::map<std::pair<const llvm::BasicBlock*, LabelCopy>, unsigned>; // how many in a block

  // As it was: does the block lead to another, but past a third?
  bool leads_to(const llvm::BasicBlock* from, const llvm::BasicBlock* to, const llvm::BasicBlock* past) const;
  // Did none of the blocks lead to another, but past that one?
  template <class Blocks>
  bool are_apart(const Blocks& blocks, const llvm::BasicBlock* past) const;
  // Do copies of a label that have come to the block stand for two ways behind it?
  bool come_from_two_ways(const llvm::BasicBlock& block, const LabelCopy& label, const Labels& now) const;

  Labels labels_;
  std::map<LabelCopy, std::set<const llvm::Value*>> conditions_;              // at the end of its blocks
  std::map<const llvm::BasicBlock*, std::set<const llvm::BasicBlock*>> ways_; // that lead on from a block
};

} // namespace rdb::codegen
