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
#include <utility>
#include <vector>

namespace rdb::codegen {

using namespace llvm;

namespace {

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

// Code that is removed only if it is never run; null if there is none.
Instruction* kept_code_of(const BasicBlock& block) {
  for (const Instruction& instruction : block)
    if (has_effect(instruction) && !has_equal_beside(instruction))
      return const_cast<Instruction*>(&instruction);
  return nullptr;
}

} // namespace

DroppedRecords::Key DroppedRecords::key_of(const DbgRecord& record) {
  const auto* label = dyn_cast<DbgLabelRecord>(&record);
  const MDNode* what =
      label ? static_cast<const MDNode*>(label->getLabel()) : cast<DbgVariableRecord>(record).getVariable();
  return {record.getDebugLoc().getLine(), what, record.getDebugLoc().getInlinedAt()};
}

DroppedRecords::Shape DroppedRecords::shape_of(Ways ways) const {
  Shape shape;
  shape.ways = std::move(ways);
  for (Block block = Ways::kOutside + 1; block < shape.ways.end(); ++block) {
    if (!shape.ways.has(block)) continue;
    for (const Instruction& instruction : *shape.ways.block(block))
      for (const DbgRecord& record : instruction.getDbgRecordRange())
        if (is_wanted_(record)) shape.records.emplace_back(key_of(record), block);
  }
  return shape;
}

DroppedRecords::Blocks DroppedRecords::Shape::places(const Key& key) const {
  Blocks found;
  for (auto [next, end] = std::ranges::equal_range(sorted, key, {}, &std::pair<Key, Block>::first);
       next != end; ++next)
    found.insert(next->second);
  return found;
}

bool DroppedRecords::Shape::has_doubled(const Key& key) const {
  auto found = std::ranges::equal_range(sorted, key, {}, &std::pair<Key, Block>::first);
  return std::ranges::adjacent_find(found) != found.end();
}

void DroppedRecords::before(Function& function, bool (*is_wanted)(const DbgRecord&), Code code, Turns turns,
                            unsigned version) {
  if (function_ == &function && version_ == version && code_ == code) return;
  function_ = &function;
  version_ = version;
  code_ = code;
  shape_ = {};
  handles_.clear();
  conditions_.clear();
  is_wanted_ = is_wanted;
  turns_ = turns;
  unsigned number = 0;
  for (Instruction& instruction : instructions(function))
    for (DbgRecord& record : instruction.getDbgRecordRange())
      if (is_wanted(record)) {
        const DILocation* at = record.getDebugLoc();
        if (at->getLine() == ++number) continue; // as of the pass before
        record.setDebugLoc(
            DILocation::get(function.getContext(), number, 0, at->getScope(), at->getInlinedAt()));
      }
  if (number == 0) return;
  shape_ = shape_of(Ways(function));
  const Ways& ways = shape_.ways;
  handles_.reserve(ways.end());
  conditions_.reserve(ways.end());
  for (Block block = Ways::kOutside; block < ways.end(); ++block) {
    handles_.emplace_back(const_cast<BasicBlock*>(ways.block(block)));
    const Value* condition = block == Ways::kOutside ? nullptr : condition_of(*ways.block(block));
    bool is_known = !condition || isa<Constant>(condition);
    conditions_.emplace_back(is_known ? nullptr : const_cast<Value*>(condition));
  }
  kept_.clear();
  if (code == Code::kIsReplaced) return;
  Block last = Ways::kOutside;
  for (const auto& [key, block] : shape_.records)
    if (std::exchange(last, block) != block)
      if (Instruction* kept = kept_code_of(*ways.block(block))) kept_[block] = kept;
}

template <class Ends>
DroppedRecords::Next DroppedRecords::next(const Shape& shape, Block from, const Blocks& places,
                                          const Ends& ends) const {
  walk_.run(shape.ways, from, [&](Block block) { return !places.contains(block) && !ends(block); });
  Next next;
  for (Block block : walk_.blocks())
    if (places.contains(block))
      next.has_record = true;
    else
      next.without.push_back(block);
  return next;
}

bool DroppedRecords::comes_again(const Shape& shape, const Key& key) const {
  Blocks places = shape.places(key);
  auto ends = [this](Block block) { return stays(block); };
  return shape.has_doubled(key) ||
         any_of(places, [&](Block block) { return next(shape, block, places, ends).has_record; });
}

const std::vector<DroppedRecords::Block>& DroppedRecords::blocks_ahead(Block place) {
  auto [known, is_new] = ahead_.try_emplace(place);
  if (!is_new) return known->second;
  Blocks found, seen;
  std::vector<Block> work{place};
  while (!work.empty()) {
    Block at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    for (Block before : ways_to_[at])
      if (staying_[before])
        found.insert(before);
      else
        work.push_back(before);
  }
  known->second.assign(found.begin(), found.end());
  return known->second;
}

std::map<DroppedRecords::Block, DroppedRecords::NewWays>
DroppedRecords::find_new_ways(const Shape& now) const {
  std::map<Block, NewWays> result;
  auto ends = [this](Block block) { return stays(block); };
  for (Block from = Ways::kOutside; from < staying_.size(); ++from) {
    if (!staying_[from] || !now.ways.has(from) || shape_.ways.from(from) == now.ways.from(from)) continue;
    NewWays ways;
    for (Block block : next(now, from, {}, ends).without)
      if (stays(block)) ways.to.insert(block);
    for (Block old : next(shape_, from, {}, ends).without)
      ways.to.erase(old);
    if (ways.to.empty()) continue;
    // Of all ways there were one is enough: what is not on it was not passed on all of them.
    walk_.run(shape_.ways, from, [](Block) { return true; });
    for (Block to : ways.to)
      if (walk_.came_to(to))
        for (Block passed = walk_.before(to); passed != from; passed = walk_.before(passed))
          ways.passed.insert(passed);
      else
        ways.passed.insert(walk_.blocks().begin(), walk_.blocks().end());
    result.emplace(from, std::move(ways));
  }
  return result;
}

DroppedRecords::Gaps DroppedRecords::find_gaps(const Shape& now, const Key& key,
                                               const std::map<Block, NewWays>& new_ways) {
  const Blocks places = shape_.places(key);
  const Blocks places_now = now.places(key);
  Block place = *places.begin();
  bool is_there = staying_[place] && now.ways.has(place);
  Gaps gaps;
  // With code that stays unless it is never run, it goes and is copied; but for a block that was cut in two.
  if (auto kept = kept_.find(place); kept != kept_.end()) {
    const auto* code = cast_or_null<Instruction>(static_cast<const Value*>(kept->second));
    bool is_cut = is_there && code && code->getParent() != shape_.ways.block(place);
    if (!is_cut && (!is_there || places_now.contains(place))) return gaps;
  }
  auto is_known = [this](Block block) {
    return isa_and_nonnull<Constant>(static_cast<const Value*>(conditions_[block]));
  };
  // The end of a block that goes is not among those from which it came next.
  if (turns_ == Turns::kCount && !is_there && !places_now.empty() && !is_known(place) &&
      comes_again(shape_, key) && !comes_again(now, key))
    gaps.insert(nullptr);
  // A block that had it may have been cut in two.
  auto stays_whole = [&](Block block) { return stays(block) && block != place; };
  auto has_gained = [&](Block from) { return from != place && places_now.contains(from); };
  // Is there a way past it to blocks that stay, of those that `is_asked` says, where there was none?
  auto has_way_past = [&](Block from, const std::vector<Block>& after, const auto& is_asked) {
    std::vector<Block> past;
    for (Block block : after)
      if (stays_whole(block) && is_asked(block)) past.push_back(block);
    auto was_passed = [&](Block block) { return !walk_.came_to(block); };
    if (past.empty()) return false;
    next(shape_, from, places, stays_whole);
    if (none_of(past, was_passed)) return false;
    next(shape_, from, places, [](Block) { return false; });
    return any_of(past, was_passed);
  };
  for (Block from : blocks_ahead(place)) {
    if (!now.ways.has(from) || has_gained(from)) continue;
    if (places_now == places && now.ways.from(from) == shape_.ways.from(from)) continue;
    Next after = next(now, from, places_now, stays_whole);
    if ((!after.has_record && !is_known(from)) ||
        has_way_past(from, after.without, [](Block) { return true; }))
      gaps.insert(shape_.ways.block(from));
  }
  for (const auto& [from, ways] : new_ways) {
    if (!ways.passed.contains(place) || gaps.contains(shape_.ways.block(from)) || has_gained(from)) continue;
    Next after = next(now, from, places_now, stays_whole);
    if (has_way_past(from, after.without, [&ways = ways](Block block) { return ways.to.contains(block); }))
      gaps.insert(shape_.ways.block(from));
  }
  return gaps;
}

std::map<DroppedRecords::Key, DroppedRecords::Gaps>
DroppedRecords::after(const Function& function, const std::function<bool(const Key&)>& is_asked) {
  std::map<Key, Gaps> result;
  if (shape_.records.empty()) return result;
  staying_.assign(shape_.ways.end(), true);
  Ways::Numbers numbers;
  for (Block block = Ways::kOutside + 1; block < shape_.ways.end(); ++block)
    if (handles_[block])
      numbers[shape_.ways.block(block)] = block;
    else
      staying_[block] = false;
  Shape now = shape_of(Ways(function, std::move(numbers), shape_.ways.end()));
  if (now.ways == shape_.ways && now.records == shape_.records) return result;
  for (Shape* shape : {&shape_, &now}) {
    shape->sorted = shape->records;
    std::ranges::sort(shape->sorted);
  }
  ahead_.clear();
  ways_to_.assign(shape_.ways.end(), {});
  for (Block block = Ways::kOutside; block < shape_.ways.end(); ++block)
    for (Block next : shape_.ways.from(block))
      ways_to_[next].push_back(block);
  std::map<Block, NewWays> new_ways = find_new_ways(now);
  for (const auto& [key, block] : shape_.sorted)
    if (!is_asked || is_asked(key))
      if (Gaps gaps = find_gaps(now, key, new_ways); !gaps.empty()) result[key] = std::move(gaps);
  function_ = nullptr;
  shape_ = {};
  return result;
}

} // namespace rdb::codegen
