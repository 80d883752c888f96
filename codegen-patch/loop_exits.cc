// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/loop_exits.h"

#include "codegen-patch/debug_names.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

#include <algorithm>

namespace rdb::codegen {

using namespace llvm;

std::vector<LoopExits::Inside> LoopExits::find_inside(const DbgVariableRecord& record,
                                                      const LoopInfo& loops) {
  std::vector<Inside> found;
  for (const Value* value : record.location_ops()) {
    const auto* instruction = dyn_cast<Instruction>(value);
    for (const Loop* loop = instruction ? loops.getLoopFor(instruction->getParent()) : nullptr;
         loop && !loop->contains(record.getParent()); loop = loop->getParentLoop())
      found.push_back({value, loop->getHeader(), loop->getNumBlocks()});
  }
  return found;
}

void LoopExits::before(Function& function) {
  records_.clear();
  DominatorTree tree(function);
  LoopInfo loops(tree);
  if (loops.empty()) return;
  for (const Instruction& instruction : instructions(function))
    for (const DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange()))
      if (!record.isDbgDeclare() && !record.isDbgAssign() && !record.isKillLocation() &&
          is_variable_record(record.getVariable()->getName()))
        if (auto inside = find_inside(record, loops); !inside.empty()) records_[&record] = std::move(inside);
}

void LoopExits::after(Function& function) {
  if (records_.empty()) return;
  DominatorTree tree(function);
  LoopInfo loops(tree);
  for (Instruction& instruction : instructions(function))
    for (DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange())) {
      auto before = records_.find(&record);
      if (before == records_.end() || record.isKillLocation()) continue;
      std::vector<Inside> now = find_inside(record, loops);
      bool same = std::ranges::equal(before->second, now, [](const Inside& a, const Inside& b) {
        return a.value == b.value && a.header == b.header && a.blocks == b.blocks;
      });
      if (same) continue;
      if (is_traced())
        fmt::print(stderr, "rdb: in {}: '{}' comes from a loop that was unrolled\n", function.getName().str(),
                   record.getVariable()->getName().str());
      record.setKillLocation();
    }
  records_.clear();
}

} // namespace rdb::codegen
