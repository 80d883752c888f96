// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pass that removes dead code removes debug records, too, of functions of whose inlined code nothing is
// left but them: the label of a region in a destructor that is otherwise empty. So while it runs all records
// belong to the function that their code is in.
#pragma once

#include "llvm/IR/DebugLoc.h"

#include <vector>

namespace llvm {
class Function;
} // namespace llvm

namespace rdb::codegen {

class KeptScopes {
public:
  // Around such a pass.
  void before(llvm::Function& function);
  void after(llvm::Function& function);

private:
  std::vector<llvm::DebugLoc> places_; // by the line that a record has meanwhile
};

} // namespace rdb::codegen
