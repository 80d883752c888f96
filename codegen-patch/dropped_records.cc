// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/dropped_records.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

#include <algorithm>
#include <vector>

namespace rdb::codegen {

using namespace llvm;

namespace {

bool has_effect(const Instruction& instruction) {
  auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  return instruction.mayHaveSideEffects() &&
         !(intrinsic && (intrinsic->isAssumeLikeIntrinsic() || intrinsic->isLifetimeStartOrEnd()));
}

const Value* condition_of(const BasicBlock& block) {
  const Instruction* last = block.getTerminator();
  if (auto* branch = dyn_cast_or_null<BranchInst>(last))
    return branch->isConditional() ? branch->getCondition() : nullptr;
  auto* choice = dyn_cast_or_null<SwitchInst>(last);
  return choice ? choice->getCondition() : nullptr;
}

// Nothing can be seen of a block that leads to nowhere: it is never run.
bool is_never_run(const BasicBlock& block) {
  return isa_and_nonnull<UnreachableInst>(block.getTerminator()) &&
         none_of(block, [](const Instruction& instruction) { return has_effect(instruction); });
}

std::set<const BasicBlock*> ways_from(const BasicBlock& block) {
  const Instruction* last = block.getTerminator();
  const auto* known = dyn_cast_or_null<ConstantInt>(condition_of(block));
  if (auto* branch = dyn_cast_or_null<BranchInst>(last); branch && known)
    return {branch->getSuccessor(known->isZero() ? 1 : 0)};
  if (auto* choice = dyn_cast_or_null<SwitchInst>(last); choice && known)
    return {choice->findCaseValue(known)->getCaseSuccessor()};
  if (auto* call = dyn_cast_or_null<InvokeInst>(last); call && call->doesNotThrow())
    return {call->getNormalDest()};
  std::set<const BasicBlock*> ways;
  for (const BasicBlock* next : successors(&block))
    if (!is_never_run(*next)) ways.insert(next);
  return ways;
}

// Passes make one instruction of equal ones on several ways, ahead of them or behind them.
bool has_equal_beside(const Instruction& instruction) {
  const BasicBlock* block = instruction.getParent();
  auto callee_of = [](const Instruction& one) {
    auto* call = dyn_cast<CallBase>(&one);
    return call ? call->getCalledOperand() : nullptr;
  };
  auto is_in = [&](const BasicBlock* other) {
    return other != block && any_of(*other, [&](const Instruction& one) {
             return one.isSameOperationAs(&instruction) && callee_of(one) == callee_of(instruction);
           });
  };
  constexpr unsigned kMost = 16; // blocks; of more it is not asked
  for (const BasicBlock* before : predecessors(block))
    if (succ_size(before) > kMost || any_of(successors(before), is_in)) return true;
  for (const BasicBlock* next : successors(block))
    if (pred_size(next) > kMost || any_of(predecessors(next), is_in)) return true;
  return false;
}

// Has it code that is removed only if it is never run?
bool is_kept(const BasicBlock& block) {
  return any_of(block, [](const Instruction& instruction) {
    return has_effect(instruction) && !has_equal_beside(instruction);
  });
}

} // namespace

std::set<const BasicBlock*> reachable_blocks(const Function& function) {
  std::set<const BasicBlock*> reached;
  std::vector<const BasicBlock*> work{&function.getEntryBlock()};
  while (!work.empty()) {
    const BasicBlock* block = work.back();
    work.pop_back();
    if (!reached.insert(block).second) continue;
    for (const BasicBlock* next : ways_from(*block))
      work.push_back(next);
  }
  return reached;
}

DroppedRecords::Key DroppedRecords::key_of(const DbgRecord& record) {
  const auto* label = dyn_cast<DbgLabelRecord>(&record);
  const MDNode* what =
      label ? static_cast<const MDNode*>(label->getLabel()) : cast<DbgVariableRecord>(record).getVariable();
  return {what, record.getDebugLoc().getInlinedAt(), record.getDebugLoc().getLine()};
}

DroppedRecords::Shape DroppedRecords::shape_of(const Function& function,
                                               bool (*is_wanted)(const DbgRecord&)) {
  Shape shape;
  shape.entry = &function.getEntryBlock();
  for (const BasicBlock* block : reachable_blocks(function)) {
    shape.ways[block] = ways_from(*block);
    for (const Instruction& instruction : *block)
      for (const DbgRecord& record : instruction.getDbgRecordRange())
        if (is_wanted(record) && !shape.places[key_of(record)].insert(block).second)
          shape.doubled.insert(key_of(record));
  }
  return shape;
}

void DroppedRecords::before(Function& function, bool (*is_wanted)(const DbgRecord&), Code code, Turns turns) {
  shape_ = {};
  handles_.clear();
  conditions_.clear();
  ways_to_.clear();
  kept_.clear();
  is_wanted_ = is_wanted;
  turns_ = turns;
  unsigned number = 0;
  for (Instruction& instruction : instructions(function))
    for (DbgRecord& record : instruction.getDbgRecordRange())
      if (is_wanted(record)) {
        const DILocation* at = record.getDebugLoc();
        record.setDebugLoc(
            DILocation::get(function.getContext(), ++number, 0, at->getScope(), at->getInlinedAt()));
      }
  if (number == 0) return;
  shape_ = shape_of(function, is_wanted);
  for (const auto& [block, ways] : shape_.ways) {
    handles_[block] = const_cast<BasicBlock*>(block);
    for (const BasicBlock* next : ways)
      ways_to_[next].insert(block);
    if (const Value* condition = condition_of(*block); condition && !isa<Constant>(condition))
      conditions_[block] = const_cast<Value*>(condition);
  }
  if (code == Code::kIsReplaced) return;
  Blocks asked;
  for (const auto& [key, places] : shape_.places)
    for (const BasicBlock* block : places)
      if (asked.insert(block).second && is_kept(*block)) kept_.insert(block);
}

template <class Ends>
DroppedRecords::Next DroppedRecords::next(const Shape& shape, const BasicBlock* from, const Blocks& places,
                                          const Ends& ends) {
  Next next;
  Blocks seen;
  std::vector<const BasicBlock*> work;
  auto go_on = [&](const BasicBlock* block) {
    const Blocks& ways = shape.ways.at(block);
    work.insert(work.end(), ways.begin(), ways.end());
    if (ways.empty()) next.without.insert(nullptr);
  };
  if (from)
    go_on(from);
  else
    work.push_back(shape.entry);
  while (!work.empty()) {
    const BasicBlock* block = work.back();
    work.pop_back();
    if (!seen.insert(block).second) continue;
    if (places.contains(block)) {
      next.has_record = true;
      continue;
    }
    next.without.insert(block);
    if (!ends(block)) go_on(block);
  }
  return next;
}

bool DroppedRecords::comes_again(const Shape& shape, const Key& key) const {
  const Blocks& places = shape.places.at(key);
  auto stays = [this](const BasicBlock* block) { return staying_.contains(block); };
  return shape.doubled.contains(key) || any_of(places, [&](const BasicBlock* block) {
           return next(shape, block, places, stays).has_record;
         });
}

DroppedRecords::Blocks DroppedRecords::blocks_ahead(const BasicBlock* place) const {
  Blocks found, seen;
  std::vector<const BasicBlock*> work{place};
  while (!work.empty()) {
    const BasicBlock* at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    if (at == shape_.entry) found.insert(nullptr);
    auto ways = ways_to_.find(at);
    if (ways == ways_to_.end()) continue;
    for (const BasicBlock* before : ways->second)
      if (staying_.contains(before))
        found.insert(before);
      else
        work.push_back(before);
  }
  return found;
}

std::map<const BasicBlock*, DroppedRecords::Blocks> DroppedRecords::find_new_ways(const Shape& now) const {
  std::map<const BasicBlock*, Blocks> result;
  auto stays = [this](const BasicBlock* block) { return staying_.contains(block); };
  auto ask = [&](const BasicBlock* from) {
    Blocks ways = next(now, from, {}, stays).without;
    if (from && shape_.ways.at(from) == now.ways.at(from)) return;
    for (const BasicBlock* old : next(shape_, from, {}, stays).without)
      ways.erase(old);
    std::erase_if(ways, [&](const BasicBlock* block) { return block && !stays(block); });
    if (!ways.empty()) result[from] = std::move(ways);
  };
  ask(nullptr);
  for (const BasicBlock* block : staying_)
    if (now.ways.contains(block)) ask(block);
  return result;
}

DroppedRecords::Blocks DroppedRecords::find_gaps(const Shape& now, const Key& key,
                                                 const std::map<const BasicBlock*, Blocks>& new_ways) const {
  const Blocks& places = shape_.places.at(key);
  const BasicBlock* place = *places.begin();
  auto found = now.places.find(key);
  const Blocks places_now = found == now.places.end() ? Blocks() : found->second;
  bool is_there = staying_.contains(place) && now.ways.contains(place);
  Blocks gaps;
  // With code that stays unless it is never run, it goes and is copied.
  if (kept_.contains(place) && (!is_there || places_now.contains(place))) return gaps;
  auto is_known = [this](const BasicBlock* block) {
    auto condition = conditions_.find(block);
    return condition != conditions_.end() && isa_and_nonnull<Constant>(condition->second);
  };
  // The end of a block that goes is not among those from which it came next.
  if (turns_ == Turns::kCount && !is_there && found != now.places.end() && !is_known(place) &&
      comes_again(shape_, key) && !comes_again(now, key))
    gaps.insert(nullptr);
  // A block that had it may have been cut in two.
  auto stays = [&](const BasicBlock* block) { return staying_.contains(block) && block != place; };
  auto has_gained = [&](const BasicBlock* from) { return from != place && places_now.contains(from); };
  // Is there a way past it to blocks that stay, of those that `is_asked` says, where there was none?
  auto has_way_past = [&](const BasicBlock* from, const Blocks& after, const auto& is_asked) {
    Blocks past;
    for (const BasicBlock* block : after)
      if ((!block || stays(block)) && is_asked(block)) past.insert(block);
    if (past.empty() || std::ranges::includes(next(shape_, from, places, stays).without, past)) return false;
    Blocks before = next(shape_, from, places, [](const BasicBlock*) { return false; }).without;
    return !std::ranges::includes(before, past);
  };
  for (const BasicBlock* from : blocks_ahead(place)) {
    if ((from && !now.ways.contains(from)) || has_gained(from)) continue;
    Next after = next(now, from, places_now, stays);
    if ((!after.has_record && !is_known(from)) ||
        has_way_past(from, after.without, [](const BasicBlock*) { return true; }))
      gaps.insert(from);
  }
  for (const auto& [from, ways] : new_ways) {
    if (gaps.contains(from) || has_gained(from)) continue;
    Next after = next(now, from, places_now, stays);
    if (has_way_past(from, after.without,
                     [&ways = ways](const BasicBlock* block) { return ways.contains(block); }))
      gaps.insert(from);
  }
  return gaps;
}

std::map<DroppedRecords::Key, DroppedRecords::Blocks>
DroppedRecords::after(const Function& function, const std::function<bool(const Key&)>& is_asked) {
  std::map<Key, Blocks> result;
  if (shape_.places.empty()) return result;
  staying_.clear();
  for (const auto& [block, handle] : handles_)
    if (handle) staying_.insert(block);
  Shape now = shape_of(function, is_wanted_);
  if (now.ways != shape_.ways || now.places != shape_.places) {
    std::map<const BasicBlock*, Blocks> new_ways = find_new_ways(now);
    for (const auto& [key, places] : shape_.places)
      if (!is_asked || is_asked(key))
        if (Blocks gaps = find_gaps(now, key, new_ways); !gaps.empty()) result[key] = std::move(gaps);
  }
  shape_ = {};
  handles_.clear();
  conditions_.clear();
  return result;
}

} // namespace rdb::codegen
