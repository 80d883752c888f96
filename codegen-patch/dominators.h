// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Can a block be reached from another one past a third? With a walk for each question, thousands of records
// in a large function would take as many walks through all of it. So the blocks on each way from one block to
// those that can be reached from it are found at once, as a dominator tree (by Lengauer and Tarjan).
#pragma once

#include "codegen-patch/ways.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <utility>
#include <vector>

namespace rdb::codegen {

class Dominators {
public:
  using Block = Ways::Block;
  // For paths that begin after a block and go on after others for which `goes_on` is true, as in Walk.
  template <class GoesOn>
  Dominators(const Ways& ways, Block from, const GoesOn& goes_on) {
    std::vector<Visit> visits{add_root(ways, from)};
    while (!visits.empty())
      if (std::optional<Block> next = next_of(visits))
        visits.push_back({order_.size() - 1, *next != Ways::kOutside && goes_on(*next)
                                                 ? ways.from(*next)
                                                 : llvm::ArrayRef<Block>()});
    find_tree();
  }

  bool came_to(Block block) const { return numbers_.contains(block); }
  // Where blocks are in the tree, in its order; nothing if one of them was not come to.
  using Places = std::vector<unsigned>;
  std::optional<Places> find(llvm::ArrayRef<Block> blocks) const;
  // Does each way to one of these, which are others, lead through the block?
  bool is_needed(Block block, const Places& places) const;

private:
  struct Visit {
    size_t number; // of the block, in the order in which they were come to
    llvm::ArrayRef<Block> ways;
  };
  Visit add_root(const Ways& ways, Block from);
  // The first block that is new, by the last of the visits; that one ends if there is none.
  std::optional<Block> next_of(std::vector<Visit>& visits);
  void find_tree();

  // By number: 0 is the begin, which is not the block itself; that one may be come to again.
  llvm::DenseMap<Block, unsigned> numbers_;
  std::vector<unsigned> order_;                     // from which each was come to first
  std::vector<std::pair<unsigned, unsigned>> ways_; // to a block, from a block
  std::vector<unsigned> place_;
  std::vector<unsigned> size_; // of the tree below, with itself
};

} // namespace rdb::codegen
