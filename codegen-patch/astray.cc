// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/astray.h"

#include "codegen-patch/debug_names.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

#include <vector>

namespace rdb::codegen {

using namespace llvm;

namespace {

std::vector<DbgLabelRecord*> labels_in(const BasicBlock& block) {
  std::vector<DbgLabelRecord*> labels;
  for (const Instruction& instruction : block)
    for (DbgRecord& record : instruction.getDbgRecordRange())
      if (auto* label = dyn_cast<DbgLabelRecord>(&record); label && parse_label(label->getLabel()->getName()))
        labels.push_back(label);
  return labels;
}

const Value* condition_of(const BasicBlock& block) {
  const auto* branch = dyn_cast_or_null<BranchInst>(block.getTerminator());
  return branch && branch->isConditional() ? branch->getCondition() : nullptr;
}

bool is_joined(const Value* condition) {
  using namespace PatternMatch;
  return match(condition, m_LogicalAnd()) || match(condition, m_LogicalOr());
}

} // namespace

void Astray::before(const Function& function) {
  labels_.clear();
  conditions_.clear();
  for (const BasicBlock& block : function)
    for (const DbgLabelRecord* label : labels_in(block)) {
      Label key(label->getLabel(), label->getDebugLoc().getInlinedAt());
      ++labels_[{&block, key}];
      conditions_[key].insert(condition_of(block));
    }
}

void Astray::after(Function& function) {
  if (labels_.empty()) return;
  for (BasicBlock& block : function) {
    const Value* condition = condition_of(block);
    if (!condition || !is_joined(condition)) continue;
    std::map<Label, unsigned> count;
    std::vector<DbgLabelRecord*> labels = labels_in(block);
    for (const DbgLabelRecord* label : labels)
      ++count[{label->getLabel(), label->getDebugLoc().getInlinedAt()}];
    for (DbgLabelRecord* label : labels) {
      Label key(label->getLabel(), label->getDebugLoc().getInlinedAt());
      auto there = labels_.find({&block, key});
      bool has_come = there == labels_.end() || there->second < count[key];
      if (!has_come || conditions_[key].contains(condition)) continue;
      const DILabel* old = label->getLabel();
      size_t number = *parse_label(old->getName());
      label->setLabel(DILabel::get(function.getContext(), old->getScope(), astray_name(number),
                                   old->getFile(), old->getLine(), 0, false, std::nullopt));
    }
  }
  labels_.clear();
}

} // namespace rdb::codegen
