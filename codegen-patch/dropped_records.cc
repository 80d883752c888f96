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
#include <iterator>
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

bool DroppedRecords::came_again(Block place) {
  if (stays(place)) {
    walk_.run(shape_.ways, place, [this](Block block) { return !stays(block); });
    return walk_.came_to(place);
  }
  if (!on_circles_)
    on_circles_ = blocks_on_circles(shape_.ways, [this](Block block) { return !stays(block); });
  return (*on_circles_)[place];
}

bool DroppedRecords::comes_again(const Shape& now, const Suspect& record) const {
  auto ends = [this](Block block) { return stays(block); };
  return now.has_doubled(record.key) || any_of(record.places_now, [&](Block block) {
           return next(now, block, record.places_now, ends).has_record;
         });
}

DroppedRecords::NewWays DroppedRecords::find_new_ways(const Shape& now, Block from) const {
  NewWays ways;
  if (shape_.ways.from(from) == now.ways.from(from)) return ways;
  auto ends = [this](Block block) { return stays(block); };
  for (Block block : next(now, from, {}, ends).without)
    if (stays(block)) ways.to.insert(block);
  for (Block old : next(shape_, from, {}, ends).without)
    ways.to.erase(old);
  if (ways.to.empty()) return ways;
  // Of all ways there were one is enough: what is not on it was not passed on all of them.
  auto far = ways.to.begin();
  walk_.run(shape_.ways, from, [&](Block) {
    while (far != ways.to.end() && walk_.came_to(*far))
      ++far;
    return far != ways.to.end();
  });
  for (Block to : ways.to)
    if (walk_.came_to(to))
      for (Block passed = walk_.before(to); passed != from; passed = walk_.before(passed))
        ways.passed.insert(passed);
    else
      ways.passed.insert(walk_.blocks().begin(), walk_.blocks().end());
  return ways;
}

bool DroppedRecords::is_known(Block block) const {
  return isa_and_nonnull<Constant>(static_cast<const Value*>(conditions_[block]));
}

bool DroppedRecords::is_suspect(const Shape& now, Suspect& record) {
  Block place = record.place;
  bool is_there = staying_[place] && now.ways.has(place);
  // With code that stays unless it is never run, it goes and is copied; but for a block that was cut in two.
  if (auto kept = kept_.find(place); kept != kept_.end()) {
    const auto* code = cast_or_null<Instruction>(static_cast<const Value*>(kept->second));
    bool is_cut = is_there && code && code->getParent() != shape_.ways.block(place);
    if (!is_cut && (!is_there || record.places_now.contains(place))) return false;
  }
  // The end of a block that goes is not among those from which it came next.
  if (turns_ == Turns::kCount && !is_there && !record.places_now.empty() && !is_known(place) &&
      came_again(place) && !comes_again(now, record))
    record.gaps.insert(nullptr);
  return true;
}

void DroppedRecords::look_at_now(const Shape& now, Begin& from) const {
  walk_.run(now.ways, from.block, [this](Block block) { return !stays(block); });
  from.after.emplace(walk_.blocks().begin(), walk_.blocks().end());
  std::ranges::sort(*from.after);
  std::ranges::copy_if(*from.after, std::back_inserter(from.staying),
                       [this](Block block) { return stays(block); });
}

// Most records are not on the ways from a block any more. To these all looks the same there.
bool DroppedRecords::is_beside(const Begin& from, const Suspect& record) const {
  auto is_behind = [&](Block block) { return std::ranges::binary_search(*from.after, block); };
  return none_of(record.places_now, is_behind) && !(stays(record.place) && is_behind(record.place));
}

// A block that had the record may have been cut in two.
DroppedRecords::Next DroppedRecords::next_now(const Shape& now, const Begin& from,
                                              const Suspect& record) const {
  Next after = next(now, from.block, record.places_now,
                    [&](Block block) { return stays(block) && block != record.place; });
  std::erase_if(after.without, [&](Block block) { return !stays(block) || block == record.place; });
  return after;
}

bool DroppedRecords::has_way_past(Begin& from, ArrayRef<Block> blocks, const Suspect& record) const {
  if (blocks.empty()) return false;
  bool are_staying = blocks.data() == from.staying.data(); // the same for many records
  auto leads_past = [&](const Dominators& tree, std::optional<Dominators::Places>& staying) {
    if (are_staying && !staying) staying = tree.find(blocks);
    std::optional<Dominators::Places> own;
    if (!are_staying) own = tree.find(blocks);
    const std::optional<Dominators::Places>& places = are_staying ? staying : own;
    return places && !tree.is_needed(record.place, *places);
  };
  if (!from.near) from.near.emplace(shape_.ways, from.block, [this](Block block) { return !stays(block); });
  if (leads_past(*from.near, from.staying_near)) return false;
  if (!from.far) from.far.emplace(shape_.ways, from.block, [](Block) { return true; });
  return !leads_past(*from.far, from.staying_far);
}

void DroppedRecords::find_gap(const Shape& now, Begin& from, Suspect& record) const {
  if (record.has_gained(from.block)) return;
  bool is_where_it_was = record.places_now.size() == 1 && record.places_now.contains(record.place);
  if (is_where_it_was && now.ways.from(from.block) == shape_.ways.from(from.block)) return;
  if (!from.after) look_at_now(now, from);
  bool has_gap = false;
  if (is_beside(from, record)) {
    has_gap = !is_known(from.block) || has_way_past(from, from.staying, record);
  } else {
    Next after = next_now(now, from, record);
    has_gap = (!after.has_record && !is_known(from.block)) || has_way_past(from, after.without, record);
  }
  if (has_gap) record.gaps.insert(shape_.ways.block(from.block));
}

void DroppedRecords::find_gap_of_new_way(const Shape& now, Begin& from, const NewWays& ways,
                                         Suspect& record) const {
  if (record.gaps.contains(shape_.ways.block(from.block)) || record.has_gained(from.block)) return;
  Next after = next_now(now, from, record);
  std::erase_if(after.without, [&](Block block) { return !ways.to.contains(block); });
  if (has_way_past(from, after.without, record)) record.gaps.insert(shape_.ways.block(from.block));
}

// Goes from each block that stays to the records that came next, past blocks that went: each of these ways is
// gone once, whatever the number of records.
void DroppedRecords::find_gaps(const Shape& now, std::vector<Suspect>& suspects) {
  std::vector<std::vector<Suspect*>> at(shape_.ways.end()); // blocks
  for (Suspect& record : suspects)
    at[record.place].push_back(&record);
  for (Block block = Ways::kOutside; block < staying_.size(); ++block) {
    if (!staying_[block] || !now.ways.has(block)) continue;
    Begin from{.block = block};
    walk_.run(shape_.ways, block, [this](Block behind) { return !stays(behind); });
    const std::vector<Block> behind(walk_.blocks().begin(), walk_.blocks().end());
    for (Block place : behind)
      for (Suspect* record : at[place])
        find_gap(now, from, *record);
    NewWays ways = find_new_ways(now, block);
    for (Block place : ways.passed)
      for (Suspect* record : at[place])
        find_gap_of_new_way(now, from, ways, *record);
  }
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
  now.sorted = now.records;
  std::ranges::sort(now.sorted);
  on_circles_.reset();
  std::vector<Suspect> suspects;
  for (const auto& [key, block] : shape_.records) {
    if (is_asked && !is_asked(key)) continue;
    Suspect record{.key = key, .place = block, .places_now = now.places(key), .gaps = {}};
    if (is_suspect(now, record)) suspects.push_back(std::move(record));
  }
  find_gaps(now, suspects);
  for (Suspect& record : suspects)
    if (!record.gaps.empty()) result[record.key] = std::move(record.gaps);
  function_ = nullptr;
  shape_ = {};
  return result;
}

} // namespace rdb::codegen
