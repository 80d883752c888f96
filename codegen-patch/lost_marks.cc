// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/lost_marks.h"

#include "codegen-patch/debug_names.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"

namespace rdb::codegen {

using namespace llvm;

namespace {

StringRef name_of(const DbgRecord& record) {
  const auto* label = dyn_cast<DbgLabelRecord>(&record);
  return label ? label->getLabel()->getName() : cast<DbgVariableRecord>(record).getVariable()->getName();
}

} // namespace

// At the end of each block.
std::map<const BasicBlock*, LostMarks::Labels> LostMarks::labels_behind(const Function& function) {
  std::map<const BasicBlock*, Labels> inside, behind;
  for (const BasicBlock& block : function)
    for (const Instruction& instruction : block)
      for (const DbgRecord& record : instruction.getDbgRecordRange())
        if (const auto* label = dyn_cast<DbgLabelRecord>(&record); label && parse_label(name_of(record)))
          inside[&block].insert(label->getLabel());
  bool changed = true;
  while (changed) {
    changed = false;
    for (const BasicBlock& block : reverse(function)) {
      Labels& labels = behind[&block];
      size_t before = labels.size();
      for (const BasicBlock* next : successors(&block)) {
        labels.insert(inside[next].begin(), inside[next].end());
        labels.insert(behind[next].begin(), behind[next].end());
      }
      changed |= labels.size() != before;
    }
  }
  for (auto& [block, labels] : behind)
    labels.insert(inside[block].begin(), inside[block].end());
  return behind;
}

void LostMarks::before(const Function& function) {
  without_write_.clear();
  bool has_labels = false;
  std::set<const Metadata*> written;
  std::set<const DILocation*> places;
  std::vector<const DbgRecord*> marks;
  for (const Instruction& instruction : instructions(function)) {
    for (const DbgRecord& record : instruction.getDbgRecordRange()) {
      has_labels |= isa<DbgLabelRecord>(record) && parse_label(name_of(record)).has_value();
      if (WriteTags::is_mark(name_of(record)) && !tags_.is_call_of_code(name_of(record)))
        marks.push_back(&record);
    }
    if (!instruction.mayWriteToMemory()) continue;
    if (const MDNode* id = instruction.getMetadata(LLVMContext::MD_DIAssignID)) written.insert(id);
    places.insert(instruction.getDebugLoc().get());
  }
  if (!has_labels) return;
  std::erase_if(marks, [&](const DbgRecord* mark) {
    const auto* assignment = dyn_cast<DbgVariableRecord>(mark);
    return assignment && assignment->isDbgAssign() ? written.contains(assignment->getAssignID())
                                                   : places.contains(mark->getDebugLoc().get());
  });
  if (marks.empty()) return;
  auto behind = labels_behind(function);
  for (const DbgRecord* mark : marks) {
    const Labels& labels = behind[mark->getParent()];
    without_write_[{name_of(*mark).str(), mark->getDebugLoc().getInlinedAt()}].insert(labels.begin(),
                                                                                      labels.end());
  }
}

void LostMarks::after(const Function& function) {
  if (without_write_.empty()) return;
  for (const Instruction& instruction : instructions(function))
    for (const DbgRecord& record : instruction.getDbgRecordRange())
      if (WriteTags::is_mark(name_of(record)))
        without_write_.erase({name_of(record).str(), record.getDebugLoc().getInlinedAt()});
  for (const auto& [mark, labels] : without_write_)
    for (const DILabel* label : labels)
      lost_[label].insert(mark.first);
  without_write_.clear();
}

std::vector<Target> LostMarks::stale_at(const DbgLabelRecord& label) const {
  std::vector<Target> result;
  auto found = lost_.find(label.getLabel());
  if (found == lost_.end()) return result;
  for (const std::string& name : found->second) {
    Target target = tags_.target_of_mark(name);
    // The label's own copy of the function; variables of other functions only pointers lead to.
    target.inlined_at = label.getDebugLoc().getInlinedAt();
    target.note = "a lost mark";
    result.push_back(target);
  }
  return result;
}

} // namespace rdb::codegen
