// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code generation may move writes to memory across a label too. The order at the end of optimisation is kept,
// with each instruction's ordinal as the line of its debug location, and compared with that of the machine
// code: a write is in its place relative to a label if, looking at these two alone, nothing comes right
// before the label that did not do so before, and the write does not follow the label where it did not.
#pragma once

#include "codegen-patch/memory_target.h"

#include "llvm/IR/ValueHandle.h"

#include <functional>
#include <map>
#include <vector>

namespace llvm {
class Function;
class MachineFunction;
class MachineInstr;
class Value;
} // namespace llvm

namespace rdb::codegen {

class CodeOrder {
public:
  // Takes down the order of writes and labels (rdb.instance.N). Changes the lines of all instructions.
  // `spare` completes the target of a write for an instance.
  void record(llvm::Function& function, const std::function<void(Target&, size_t instance)>& spare);

  // What may be stale at a label of the machine code.
  std::vector<Target> stale_at(const llvm::MachineInstr& label) const;

private:
  struct Write {
    Target target;
    llvm::WeakVH base; // of a store: what it writes; null once later passes have removed that
    int64_t offset = 0;
    uint64_t size = 0;
    bool is_call = false;
    std::string callee; // empty if it is not known
  };
  struct Merged;
  enum class Match { kNone, kPossible, kSure };
  static Match match(const Merged& merged, const Write& write);
  struct Block {
    std::vector<unsigned> ordinals; // of writes; labels as kLabel + instance
    std::vector<unsigned> successors;
  };
  struct Skeleton {
    std::vector<Block> blocks;
    std::map<unsigned, Write> writes;
    std::map<std::pair<unsigned, unsigned>, Target> seen_from; // label and write: a target that spares some
  };
  std::map<const llvm::Function*, Skeleton> skeletons_;
};

} // namespace rdb::codegen
