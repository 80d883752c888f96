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
  return condition && (match(condition, m_LogicalAnd()) || match(condition, m_LogicalOr()));
}

// Those of its successors that it may go on to.
std::set<const BasicBlock*> ways_from(const BasicBlock& block) {
  if (auto* constant = dyn_cast_or_null<ConstantInt>(condition_of(block)))
    return {block.getTerminator()->getSuccessor(constant->isZero() ? 1 : 0)};
  std::set<const BasicBlock*> ways;
  for (const BasicBlock* next : successors(&block))
    if (!isa<UnreachableInst>(next->front())) ways.insert(next);
  return ways;
}

} // namespace

void Astray::before(const Function& function) {
  labels_.clear();
  conditions_.clear();
  ways_.clear();
  for (const BasicBlock& block : function) {
    ways_[&block] = ways_from(block);
    for (const DbgLabelRecord* label : labels_in(block)) {
      Label key(label->getLabel(), label->getDebugLoc().getInlinedAt());
      ++labels_[{&block, key}];
      conditions_[key].insert(condition_of(block));
    }
  }
}

// Of several ways that led on from the block, have some more or less of the label than the block has gained?
bool Astray::is_uneven(const BasicBlock& block, const Label& label, unsigned gain) const {
  auto ways = ways_.find(&block);
  if (ways == ways_.end() || ways->second.size() < 2) return false;
  auto count = [&](const BasicBlock* next) {
    auto found = next == &block ? labels_.end() : labels_.find({next, label});
    return found == labels_.end() ? 0 : found->second;
  };
  return any_of(ways->second, [&](const BasicBlock* next) { return count(next) > 0; }) &&
         any_of(ways->second, [&](const BasicBlock* next) { return count(next) != gain; });
}

void Astray::after(Function& function) {
  if (labels_.empty()) return;
  for (BasicBlock& block : function) {
    const Value* condition = condition_of(block);
    std::map<Label, unsigned> count;
    std::vector<DbgLabelRecord*> labels = labels_in(block);
    for (const DbgLabelRecord* label : labels)
      ++count[{label->getLabel(), label->getDebugLoc().getInlinedAt()}];
    for (DbgLabelRecord* label : labels) {
      Label key(label->getLabel(), label->getDebugLoc().getInlinedAt());
      auto there = labels_.find({&block, key});
      unsigned before = there == labels_.end() ? 0 : there->second;
      if (count[key] <= before) continue;
      bool is_between = is_joined(condition) && !conditions_[key].contains(condition);
      if (!is_between && !is_uneven(block, key, count[key] - before)) continue;
      const DILabel* old = label->getLabel();
      size_t number = *parse_label(old->getName());
      label->setLabel(DILabel::get(function.getContext(), old->getScope(), astray_name(number),
                                   old->getFile(), old->getLine(), 0, false, std::nullopt));
    }
  }
  labels_.clear();
}

} // namespace rdb::codegen
