// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/kept_scopes.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instruction.h"

namespace rdb::codegen {

using namespace llvm;

void KeptScopes::before(Function& function) {
  places_.clear();
  DISubprogram* scope = function.getSubprogram();
  if (!scope) return;
  for (Instruction& instruction : instructions(function))
    for (DbgRecord& record : instruction.getDbgRecordRange()) {
      auto line = static_cast<unsigned>(places_.size());
      places_.push_back(record.getDebugLoc());
      record.setDebugLoc(DILocation::get(function.getContext(), line, 0, scope));
    }
}

void KeptScopes::after(Function& function) {
  if (places_.empty()) return;
  for (Instruction& instruction : instructions(function))
    for (DbgRecord& record : instruction.getDbgRecordRange())
      record.setDebugLoc(places_[record.getDebugLoc().getLine()]);
  places_.clear();
}

} // namespace rdb::codegen
