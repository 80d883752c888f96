// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/folded_addresses.h"

#include "codegen-patch/debug_names.h"

#include "llvm/ADT/APInt.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace rdb::codegen {

using namespace llvm;

namespace {

// Do its users fold it into themselves? Selection goes by blocks: for another one it is computed.
bool is_folded(const GetElementPtrInst& address) {
  return all_of(address.uses(), [&](const Use& use) {
    const auto* user = cast<Instruction>(use.getUser());
    bool accesses = isa<LoadInst>(user) ||
                    (isa<StoreInst>(user) && use.getOperandNo() == StoreInst::getPointerOperandIndex());
    return accesses && user->getParent() == address.getParent();
  });
}

} // namespace

void name_bases(Function& function) {
  const DataLayout& layout = function.getDataLayout();
  for (Instruction& instruction : instructions(function))
    for (DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange())) {
      if (record.isDbgDeclare() || record.isKillLocation() || record.getNumVariableLocationOps() != 1 ||
          !is_variable_record(record.getVariable()->getName()))
        continue;
      auto* address = dyn_cast<GetElementPtrInst>(record.getVariableLocationOp(0));
      if (!address || address->getType()->isVectorTy() || !is_folded(*address)) continue;
      APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
      if (!address->accumulateConstantOffset(layout, offset)) continue;
      DIExpression* expression = record.getExpression();
      // Where the variable is in memory there, the address of that memory changes; else its value is
      // computed.
      bool is_memory = is_contained(expression->getElements(), dwarf::DW_OP_deref);
      uint8_t flags = is_memory ? DIExpression::ApplyOffset : DIExpression::StackValue;
      record.setRawLocation(ValueAsMetadata::get(address->getPointerOperand()));
      record.setExpression(DIExpression::prepend(expression, flags, offset.getSExtValue()));
    }
}

} // namespace rdb::codegen
