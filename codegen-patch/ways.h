// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blocks of a function that can be reached, and the ways between them, as far as conditions are known.
// Blocks are known by number: there are thousands in a large function, and many walks through them.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <set>
#include <vector>

namespace llvm {
class BasicBlock;
class Function;
class Instruction;
class Value;
} // namespace llvm

namespace rdb::codegen {

// Is anything seen of it, when it runs, but its result?
bool has_effect(const llvm::Instruction& instruction);
// On what depends which way a block is left? Null if on nothing that has a value.
const llvm::Value* condition_of(const llvm::BasicBlock& block);

class Ways {
public:
  using Block = unsigned;
  using Numbers = llvm::DenseMap<const llvm::BasicBlock*, Block>;
  static constexpr Block kOutside = 0; // where the function is entered from, and left to

  Ways() = default;
  explicit Ways(const llvm::Function& function) : Ways(function, Numbers(), kOutside + 1) {}
  // Blocks that have a number in `numbers` keep it; others get one from `first_new` on.
  Ways(const llvm::Function& function, Numbers numbers, Block first_new);

  // Numbers that are in use are below it.
  Block end() const { return static_cast<Block>(blocks_.size()); }
  bool has(Block block) const { return block < end() && !ways_[block].empty(); }
  const llvm::BasicBlock* block(Block number) const { return blocks_[number]; } // null outside
  // Of a block that is there at least one, in the order of their numbers.
  llvm::ArrayRef<Block> from(Block block) const { return ways_[block]; }
  friend bool operator==(const Ways&, const Ways&) = default;

private:
  std::vector<const llvm::BasicBlock*> blocks_;
  std::vector<llvm::SmallVector<Block, 2>> ways_;
};

// A walk through the blocks behind one, that comes to each at most once.
class Walk {
public:
  using Block = Ways::Block;
  // On behind a block, if `goes_on` says so of it; not past the end of the function.
  template <class GoesOn>
  void run(const Ways& ways, Block from, const GoesOn& goes_on) {
    start(ways, from);
    for (size_t i = 0; i < blocks_.size(); ++i)
      if (Block block = blocks_[i]; block != Ways::kOutside && goes_on(block)) add(ways, block);
  }
  // Those to which the last one came, the nearest first.
  llvm::ArrayRef<Block> blocks() const { return blocks_; }
  bool came_to(Block block) const { return block < comes_from_.size() && turn_of_[block] == turn_; }
  // From which block it came to this one.
  Block before(Block block) const { return comes_from_[block]; }

private:
  void start(const Ways& ways, Block from);
  void add(const Ways& ways, Block behind);

  std::vector<Block> blocks_;
  std::vector<Block> comes_from_;
  std::vector<unsigned> turn_of_; // when it was come to last
  unsigned turn_ = 0;
};

// Which of the blocks that are asked for can be reached from themselves, past others of them? By number.
// Outside is not one of them.
std::vector<bool> blocks_on_circles(const Ways& ways, llvm::function_ref<bool(Ways::Block)> is_asked);

std::set<const llvm::BasicBlock*> reachable_blocks(const llvm::Function& function);

} // namespace rdb::codegen
