// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code generation may move writes to memory across a label too. The order at the end of optimisation is kept,
// with each instruction's ordinal as the line of its debug location, and compared with that of the machine
// code: a write is in its place relative to a label if, looking at these two alone, nothing comes right
// before the label that did not do so before, and the write does not follow the label where it did not. The
// same is asked of calls and of other labels, for the sake of the place itself.
#pragma once

#include "codegen-patch/memory_target.h"

#include "llvm/IR/ValueHandle.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
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

  // Instruction selection does not keep labels in order with the code of their block. Puts those that come
  // too early where they belong.
  void put_in_order(llvm::MachineFunction& function);

  struct Found {
    std::vector<Target> stale; // what may be stale at the label
    bool is_displaced = false; // a call or another region that it should follow follows it, or so
    bool is_missed = false;    // there is a way to the code behind it that does not pass it
  };
  // About a label of the machine code.
  Found look_at(const llvm::MachineInstr& label);

private:
  struct Write {
    Target target;
    llvm::WeakVH base; // of a store: what it writes; null once later passes have removed that
    int64_t offset = 0;
    uint64_t size = 0;
    bool is_call = false;
    bool is_visible = false; // a call of other code, which may do something that can be seen from outside
    std::string callee;      // empty if it is not known
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
    std::map<unsigned, unsigned> ends; // of labels: the last instruction of their block
    std::map<std::pair<unsigned, unsigned>, Target> seen_from; // label and write: a target that spares some
  };
  // A write, those that became one with others, or a label.
  struct Candidate {
    std::vector<unsigned> before; // ordinals in the skeleton
    std::vector<unsigned> after;  // and in the machine code
  };
  // The machine code of a function against its skeleton, as far as that is the same for all labels.
  struct Comparison {
    const llvm::MachineFunction* function = nullptr;
    std::vector<Block> blocks;
    std::set<unsigned> present; // ordinals
    std::vector<Candidate> candidates;
    std::set<unsigned> moved;       // ordinals
    std::vector<Candidate> changed; // candidates that are not as before, whatever the label
  };
  static std::set<unsigned> find_moved(const Skeleton& skeleton, const std::vector<Block>& blocks);
  static Comparison compare(const llvm::MachineFunction& function, const Skeleton& skeleton);

  std::map<const llvm::Function*, Skeleton> skeletons_;
  std::optional<Comparison> comparison_; // of the function that labels are looked at in
};

} // namespace rdb::codegen
