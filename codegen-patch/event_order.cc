// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/event_order.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace rdb::codegen {

using namespace llvm;

void EventOrder::record(Function& function, DISubprogram& subprogram) {
  unsigned ordinal = 1;
  for (Instruction& instruction : instructions(function))
    instruction.setDebugLoc(DILocation::get(function.getContext(), ++ordinal, 0, &subprogram));
}

} // namespace rdb::codegen
