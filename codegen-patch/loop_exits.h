// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Behind a loop, a value of the loop is the one of its last turn. Passes that give turns code of their own
// know who uses that behind the loop, but for debug records: those name the first turn's afterwards. Such
// records are found here, and say nothing from then on; unless the value was given a phi of its own behind
// the loop first, which the pass keeps right as it does for any other user.
#pragma once

#include "llvm/IR/ValueHandle.h"

#include <map>
#include <set>
#include <vector>

namespace llvm {
class BasicBlock;
class DbgVariableRecord;
class Function;
class Loop;
class LoopInfo;
class Value;
} // namespace llvm

namespace rdb::codegen {

class LoopExits {
public:
  // Around a pass that unrolls loops.
  void before(llvm::Function& function);
  void after(llvm::Function& function);

private:
  // A loop that a record's value is in, and the record is not.
  struct Inside {
    const llvm::BasicBlock* header;
    unsigned blocks; // of the loop
    bool operator==(const Inside&) const = default;
  };
  struct Operand {
    llvm::WeakVH value; // null once it is gone
    std::vector<Inside> loops;
  };
  static std::vector<Operand> find_operands(const llvm::DbgVariableRecord& record,
                                            const llvm::LoopInfo& loops);
  // Is it what it was, or a new phi that stands for it?
  bool is_same(const Operand& before, const Operand& now) const;
  bool stands_for(const llvm::Value& now, const llvm::Value* before, unsigned depth) const;

  std::map<const llvm::DbgVariableRecord*, std::vector<Operand>> records_;
  std::set<const llvm::Value*> phis_; // that were there before
};

} // namespace rdb::codegen
