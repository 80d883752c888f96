// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/loop_exits.h"

#include "codegen-patch/debug_names.h"
#include "codegen-patch/records.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

#include <algorithm>

namespace rdb::codegen {

using namespace llvm;

std::vector<LoopExits::Operand> LoopExits::find_operands(const DbgVariableRecord& record,
                                                         const LoopInfo& loops) {
  std::vector<Operand> found;
  for (Value* value : record.location_ops()) {
    Operand& operand = found.emplace_back(Operand{value, {}});
    const auto* instruction = dyn_cast<Instruction>(value);
    for (const Loop* loop = instruction ? loops.getLoopFor(instruction->getParent()) : nullptr;
         loop && !loop->contains(record.getParent()); loop = loop->getParentLoop())
      operand.loops.push_back({loop->getHeader(), loop->getNumBlocks()});
  }
  return found;
}

// Turns with code of their own give the phi their copies of the value, besides the value itself.
bool LoopExits::stands_for(const Value& now, const Value* before, unsigned depth) const {
  const auto* phi = dyn_cast<PHINode>(&now);
  if (!before || !phi || phis_.contains(phi) || depth == 0) return false;
  return any_of(phi->incoming_values(), [&](const Value* incoming) {
    return incoming == before || stands_for(*incoming, before, depth - 1);
  });
}

bool LoopExits::is_same(const Operand& before, const Operand& now) const {
  if (before.value == now.value) return before.loops == now.loops;
  constexpr unsigned kDeepest = 4; // phis behind loops in loops
  return now.value && stands_for(*now.value, before.value, kDeepest) &&
         all_of(now.loops, [&](const Inside& loop) { return is_contained(before.loops, loop); });
}

void LoopExits::before(Function& function) {
  records_.clear();
  phis_.clear();
  std::vector<DbgVariableRecord*> asked = value_records_of(function);
  if (asked.empty()) return;
  DominatorTree tree(function);
  LoopInfo loops(tree);
  auto is_inside = [](const Operand& operand) { return !operand.loops.empty(); };
  for (const DbgVariableRecord* record : asked)
    if (auto operands = find_operands(*record, loops); any_of(operands, is_inside))
      records_[record] = std::move(operands);
  if (records_.empty()) return;
  for (const Instruction& instruction : instructions(function))
    if (isa<PHINode>(instruction)) phis_.insert(&instruction);
}

void LoopExits::after(Function& function) {
  if (records_.empty()) return;
  DominatorTree tree(function);
  LoopInfo loops(tree);
  for (Instruction& instruction : instructions(function))
    for (DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange())) {
      auto before = records_.find(&record);
      if (before == records_.end() || record.isKillLocation()) continue;
      std::vector<Operand> now = find_operands(record, loops);
      bool same = std::ranges::equal(before->second, now,
                                     [this](const Operand& a, const Operand& b) { return is_same(a, b); });
      if (same) continue;
      if (is_traced())
        fmt::print(stderr, "rdb: in {}: '{}' comes from a loop that was unrolled\n", function.getName().str(),
                   record.getVariable()->getName().str());
      record.setKillLocation();
    }
  records_.clear();
}

} // namespace rdb::codegen
