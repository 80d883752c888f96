// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/astray.h"

#include "codegen-patch/debug_names.h"
#include "codegen-patch/record_flow.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"

#include <array>
#include <vector>

namespace rdb::codegen {

using namespace llvm;

namespace {

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
  // A label behind a call that may throw is behind it still once the call cannot.
  if (auto* call = dyn_cast_or_null<InvokeInst>(block.getTerminator())) return {call->getNormalDest()};
  std::set<const BasicBlock*> ways;
  for (const BasicBlock* next : successors(&block))
    if (!isa<UnreachableInst>(next->front())) ways.insert(next);
  return ways;
}

// What several copies of a label say of its arguments is known of it only if they say the same.
void forget_values(const DbgLabelRecord& label, BasicBlock& block, size_t copies) {
  std::string prefix = fmt::format("{}{}.", kSnapshotName, *parse_label(label.getLabel()->getName()));
  std::map<Piece, std::vector<DbgVariableRecord*>> values;
  for (Instruction& instruction : block)
    for (DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange()))
      if (record.getVariable()->getName().starts_with(prefix) &&
          record.getDebugLoc().getInlinedAt() == label.getDebugLoc().getInlinedAt())
        values[piece_of(record)].push_back(&record);
  for (auto& [piece, records] : values)
    if (records.size() != copies ||
        !all_of(records, [&](DbgVariableRecord* record) { return same_value(*record, *records[0]); }))
      for (DbgVariableRecord* record : records)
        record->setKillLocation();
}

} // namespace

void Astray::before(const Function& function) {
  labels_.clear();
  conditions_.clear();
  ways_.clear();
  for (const BasicBlock& block : function)
    for (const DbgLabelRecord* label : labels_in(block)) {
      LabelCopy key = copy_of(*label);
      ++labels_[{&block, key}];
      conditions_[key].insert(condition_of(block));
    }
  if (labels_.empty()) return;
  for (const BasicBlock& block : function)
    ways_[&block] = ways_from(block);
}

std::vector<unsigned> Astray::count_on_ways(const BasicBlock& block, const LabelCopy& label) const {
  std::vector<unsigned> counts;
  auto ways = ways_.find(&block);
  if (ways == ways_.end() || ways->second.size() < 2) return counts;
  auto count = [&](const BasicBlock* at) {
    auto found = at == &block ? labels_.end() : labels_.find({at, label});
    return found == labels_.end() ? 0 : found->second;
  };
  for (const BasicBlock* next : ways->second) {
    // One way may do something first and then lead into the other.
    const std::set<const BasicBlock*>& further = ways_.at(next);
    bool leads_on =
        further.size() == 1 && ways->second.contains(*further.begin()) && *further.begin() != next;
    counts.push_back(count(next) + (leads_on ? count(*further.begin()) : 0));
  }
  if (all_of(counts, [](unsigned way) { return way == 0; })) counts.clear();
  return counts;
}

bool Astray::leads_to(const BasicBlock* from, const BasicBlock* to, const BasicBlock* past) const {
  std::set<const BasicBlock*> seen{past};
  std::vector<const BasicBlock*> work{from};
  while (!work.empty()) {
    const BasicBlock* at = work.back();
    work.pop_back();
    auto ways = seen.insert(at).second ? ways_.find(at) : ways_.end();
    if (ways == ways_.end()) continue;
    if (ways->second.contains(to)) return true;
    work.insert(work.end(), ways->second.begin(), ways->second.end());
  }
  return false;
}

template <class Blocks>
bool Astray::are_apart(const Blocks& blocks, const BasicBlock* past) const {
  return none_of(blocks, [&](const BasicBlock* one) {
    return any_of(blocks,
                  [&](const BasicBlock* other) { return one != other && leads_to(one, other, past); });
  });
}

bool Astray::come_from_two_ways(const BasicBlock& block, const LabelCopy& label, const Labels& now) const {
  std::vector<const BasicBlock*> sources;
  for (const auto& [place, count] : labels_) {
    if (place.second != label || place.first == &block || !leads_to(&block, place.first, nullptr)) continue;
    auto left = now.find(place);
    if (left == now.end() || left->second < count) sources.push_back(place.first);
  }
  for (const BasicBlock* one : sources)
    for (const BasicBlock* other : sources)
      if (one < other && are_apart(std::array{one, other}, &block)) return true;
  return false;
}

void Astray::after(Function& function) {
  if (labels_.empty()) return;
  Labels now;
  for (const BasicBlock& block : function)
    for (const DbgLabelRecord* label : labels_in(block))
      ++now[{&block, copy_of(*label)}];
  for (BasicBlock& block : function) {
    const Value* condition = condition_of(block);
    std::map<LabelCopy, unsigned> count;
    std::set<LabelCopy> joined;
    std::vector<DbgLabelRecord*> labels = labels_in(block);
    for (const DbgLabelRecord* label : labels)
      ++count[copy_of(*label)];
    for (DbgLabelRecord* label : labels) {
      LabelCopy key = copy_of(*label);
      auto there = labels_.find({&block, key});
      unsigned before = there == labels_.end() ? 0 : there->second;
      if (count[key] <= before) continue;
      unsigned gain = count[key] - before;
      std::vector<unsigned> ways = count_on_ways(block, key);
      bool is_between = is_joined(condition) && !conditions_[key].contains(condition);
      bool is_from_two = ways.empty() && gain > 1 && come_from_two_ways(block, key, now);
      if (!is_between && !is_from_two && all_of(ways, [&](unsigned way) { return way == gain; })) continue;
      bool is_doubled = before == 0 && !is_between && all_of(ways, [&](unsigned way) { return way == 1; }) &&
                        gain == ways.size() && are_apart(ways_.at(&block), &block);
      if (is_doubled) {
        if (joined.insert(key).second)
          forget_values(*label, block, gain);
        else
          label->eraseFromParent();
        continue;
      }
      lead_astray(*label);
    }
  }
  labels_.clear();
}

} // namespace rdb::codegen
