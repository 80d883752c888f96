// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/labels.h"

#include "codegen-patch/debug_names.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

namespace rdb::codegen {

using namespace llvm;

LabelCopy copy_of(const DbgLabelRecord& label) {
  return {label.getLabel(), label.getDebugLoc().getInlinedAt()};
}

std::vector<DbgLabelRecord*> labels_in(const BasicBlock& block) {
  std::vector<DbgLabelRecord*> labels;
  for (const Instruction& instruction : block)
    for (DbgRecord& record : instruction.getDbgRecordRange())
      if (auto* label = dyn_cast<DbgLabelRecord>(&record); label && parse_label(label->getLabel()->getName()))
        labels.push_back(label);
  return labels;
}

std::vector<DbgLabelRecord*> labels_in(const Function& function) {
  std::vector<DbgLabelRecord*> labels;
  for (const BasicBlock& block : function)
    for (DbgLabelRecord* label : labels_in(block))
      labels.push_back(label);
  return labels;
}

void lead_astray(DbgLabelRecord& label) {
  const DILabel* old = label.getLabel();
  if (is_traced()) fmt::print(stderr, "rdb: {} comes to stand on other paths\n", old->getName().str());
  label.setLabel(DILabel::get(old->getContext(), old->getScope(), astray_name(*parse_label(old->getName())),
                              old->getFile(), old->getLine(), 0, false, std::nullopt));
}

} // namespace rdb::codegen
