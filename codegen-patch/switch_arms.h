// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Of arms of a switch that do the same the optimiser keeps one, for all their cases. Labels are nothing to
// it: those of the arm that is kept are reached in the other cases too from then on. Such labels are found
// here, and have no place any more.
#pragma once

#include "codegen-patch/labels.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace llvm {
class BasicBlock;
class Function;
class SwitchInst;
class Value;
} // namespace llvm

namespace rdb::codegen {

class SwitchArms {
public:
  // Around a pass over a function that makes arms one.
  void before(const llvm::Function& function);
  void after(llvm::Function& function);

private:
  using Case = std::optional<int64_t>; // none: any other value
  struct Switch {
    const llvm::Value* condition = nullptr;
    std::map<LabelCopy, std::set<Case>> cases; // in which the label is surely reached
  };
  static std::map<const llvm::BasicBlock*, std::set<Case>> arms_of(const llvm::SwitchInst& branch);

  std::map<const llvm::BasicBlock*, Switch> switches_; // by the block that ends in it
};

} // namespace rdb::codegen
