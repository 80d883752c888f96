// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pass that turns a branch around turns the comparison around with it, if nobody else uses that; debug
// records do not count, and would say the opposite from then on. They are found here and told so.
#pragma once

#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/ValueHandle.h"

#include <utility>
#include <vector>

namespace llvm {
class Function;
} // namespace llvm

namespace rdb::codegen {

class Inverted {
public:
  // Around a pass that may turn branches around.
  void before(llvm::Function& function);
  void after(llvm::StringRef pass, llvm::Function& function);

private:
  std::vector<std::pair<llvm::WeakVH, llvm::CmpInst::Predicate>> comparisons_; // that records name
};

} // namespace rdb::codegen
