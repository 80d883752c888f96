// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/astray.h"

#include "codegen-patch/debug_names.h"

#include "llvm/IR/CFG.h"
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
  homes_.clear();
  successors_.clear();
  for (const BasicBlock& block : function) {
    successors_[&block] = {succ_begin(&block), succ_end(&block)};
    for (const DbgLabelRecord* label : labels_in(block)) {
      Label key(label->getLabel(), label->getDebugLoc().getInlinedAt());
      ++labels_[{&block, key}];
      conditions_[key].insert(condition_of(block));
      homes_[key].insert(&block);
    }
  }
}

// Does a path lead out of the block, now that the label is there, on which it was not before?
bool Astray::passes_by(const BasicBlock& block, const Label& label) const {
  auto before = successors_.find(&block);
  if (before == successors_.end()) return false;
  return any_of(homes_.at(label), [&](const BasicBlock* home) {
    return home != &block && before->second.contains(home) &&
           any_of(successors(&block), [&](const BasicBlock* next) {
             return next != home && before->second.contains(next) && !successors_.at(home).contains(next);
           });
  });
}

void Astray::after(Function& function) {
  if (labels_.empty()) return;
  for (BasicBlock& block : function) {
    const Value* condition = condition_of(block);
    if (!condition) continue;
    std::map<Label, unsigned> count;
    std::vector<DbgLabelRecord*> labels = labels_in(block);
    for (const DbgLabelRecord* label : labels)
      ++count[{label->getLabel(), label->getDebugLoc().getInlinedAt()}];
    for (DbgLabelRecord* label : labels) {
      Label key(label->getLabel(), label->getDebugLoc().getInlinedAt());
      auto there = labels_.find({&block, key});
      bool has_come = there == labels_.end() || there->second < count[key];
      bool is_between = is_joined(condition) && !conditions_[key].contains(condition);
      if (!has_come || (!is_between && !passes_by(block, key))) continue;
      const DILabel* old = label->getLabel();
      size_t number = *parse_label(old->getName());
      label->setLabel(DILabel::get(function.getContext(), old->getScope(), astray_name(number),
                                   old->getFile(), old->getLine(), 0, false, std::nullopt));
    }
  }
  labels_.clear();
}

} // namespace rdb::codegen
