// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/records.h"

#include "codegen-patch/debug_names.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"

namespace rdb::codegen {

using namespace llvm;

StringRef name_of(const DbgRecord& record) {
  const auto* label = dyn_cast<DbgLabelRecord>(&record);
  return label ? label->getLabel()->getName() : cast<DbgVariableRecord>(record).getVariable()->getName();
}

std::vector<DbgVariableRecord*> value_records_of(const Function& function) {
  std::vector<DbgVariableRecord*> records;
  for (const Instruction& instruction : instructions(function))
    for (DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange()))
      if (!record.isDbgDeclare() && !record.isDbgAssign() && !record.isKillLocation() &&
          is_variable_record(record.getVariable()->getName()))
        records.push_back(&record);
  return records;
}

unsigned bits_of(const DbgVariableRecord& record) {
  if (auto fragment = record.getExpression()->getFragmentInfo())
    return static_cast<unsigned>(fragment->SizeInBits);
  return static_cast<unsigned>(record.getVariable()->getSizeInBits().value_or(64));
}

} // namespace rdb::codegen
