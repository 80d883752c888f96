// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/lost_marks.h"

#include "codegen-patch/call_marks.h"
#include "codegen-patch/debug_names.h"
#include "codegen-patch/write_tags.h"

#include "llvm/ADT/APInt.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"

#include <set>
#include <vector>

namespace rdb::codegen {

using namespace llvm;

namespace {

StringRef name_of(const DbgRecord& record) {
  const auto* label = dyn_cast<DbgLabelRecord>(&record);
  return label ? label->getLabel()->getName() : cast<DbgVariableRecord>(record).getVariable()->getName();
}

// The mark of a write to a variable that is not in memory any more says nothing.
bool is_mark(const DbgRecord& record) {
  const auto* variable = dyn_cast<DbgVariableRecord>(&record);
  return CallMarks::is_mark(name_of(record)) ||
         (WriteTags::is_mark(name_of(record)) && (!variable || variable->isDbgAssign()));
}

// The blocks from which a label can be reached, or the mark of a call.
std::set<const BasicBlock*> blocks_ahead_of_labels(const Function& function) {
  std::set<const BasicBlock*> found;
  std::vector<const BasicBlock*> work;
  for (const Instruction& instruction : instructions(function))
    if (any_of(instruction.getDbgRecordRange(), [](const DbgRecord& record) {
          return isa<DbgLabelRecord>(record) &&
                 (parse_label(name_of(record)) || CallMarks::is_mark(name_of(record)));
        }))
      work.push_back(instruction.getParent());
  while (!work.empty()) {
    const BasicBlock* block = work.back();
    work.pop_back();
    if (!found.insert(block).second) continue;
    for (const BasicBlock* before : predecessors(block))
      work.push_back(before);
  }
  return found;
}

} // namespace

LostMarks::Mark LostMarks::take_down(const DbgRecord& record) {
  Mark mark{std::get<0>(DroppedRecords::key_of(record)), record.getDebugLoc()};
  if (const auto* assignment = dyn_cast<DbgVariableRecord>(&record)) {
    mark.id = TrackingMDRef(assignment->getAssignID());
    if (!assignment->isKillLocation()) mark.value = assignment->getVariableLocationOp(0);
    if (Value* address = assignment->isKillAddress() ? nullptr : assignment->getAddress()) {
      const DataLayout& layout = assignment->getFunction()->getDataLayout();
      APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
      mark.address = address;
      mark.base = address->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
      mark.offset = offset.getSExtValue();
    }
    mark.expression = assignment->getExpression();
    mark.address_expression = assignment->getAddressExpression();
  }
  return mark;
}

DbgRecord* LostMarks::make(const Mark& mark, LLVMContext& context) {
  if (auto* label = dyn_cast<DILabel>(mark.what))
    return new DbgLabelRecord(const_cast<DILabel*>(label), mark.at);
  Value* address = mark.address;
  DIExpression* expression = mark.address_expression;
  if (!address && mark.base) {
    address = mark.base;
    expression = DIExpression::prepend(expression, DIExpression::ApplyOffset, mark.offset);
  }
  if (!address) address = PoisonValue::get(PointerType::get(context, 0));
  // One whose value is not known would be removed; it must not look like a length either.
  Value* value = mark.value && !isa<UndefValue>(mark.value)
                     ? static_cast<Value*>(mark.value)
                     : ConstantPointerNull::get(PointerType::get(context, 0));
  return DbgVariableRecord::createDVRAssign(
      value, const_cast<DILocalVariable*>(cast<DILocalVariable>(mark.what)), mark.expression,
      cast<DIAssignID>(mark.id.get()), address, expression, mark.at.get());
}

void LostMarks::before(Function& function, Marks marks) {
  marks_.clear();
  std::set<const BasicBlock*> ahead = blocks_ahead_of_labels(function);
  if (ahead.empty()) return;
  std::set<const Metadata*> written;
  std::set<std::pair<unsigned, const DILocation*>> places;
  for (const Instruction& instruction : instructions(function)) {
    if (!instruction.mayWriteToMemory()) continue;
    if (const MDNode* id = instruction.getMetadata(LLVMContext::MD_DIAssignID)) written.insert(id);
    if (const DILocation* at = instruction.getDebugLoc()) places.emplace(at->getLine(), at->getInlinedAt());
  }
  auto has_write = [&](const DbgRecord& mark) {
    if (const auto* assignment = dyn_cast<DbgVariableRecord>(&mark))
      return written.contains(assignment->getAssignID());
    return places.contains(
        {cast<DbgLabelRecord>(mark).getLabel()->getLine(), mark.getDebugLoc().getInlinedAt()});
  };
  dropped_.before(function, is_mark,
                  marks == Marks::kAll ? DroppedRecords::Code::kStays : DroppedRecords::Code::kIsReplaced,
                  DroppedRecords::Turns::kDoNotMatter);
  for (const Instruction& instruction : instructions(function))
    for (const DbgRecord& record : instruction.getDbgRecordRange())
      if (is_mark(record) && ahead.contains(instruction.getParent()) &&
          (marks == Marks::kAll || !has_write(record)))
        marks_.emplace(DroppedRecords::key_of(record), take_down(record));
}

void LostMarks::after(StringRef pass, Function& function) {
  if (marks_.empty()) return;
  auto is_asked = [this](const DroppedRecords::Key& key) { return marks_.contains(key); };
  for (const auto& [key, gaps] : dropped_.after(function, is_asked))
    for (const BasicBlock* gap : gaps) {
      BasicBlock* block = gap ? const_cast<BasicBlock*>(gap) : &function.getEntryBlock();
      BasicBlock::iterator place = gap ? block->getTerminator()->getIterator() : block->getFirstInsertionPt();
      block->insertDbgRecordBefore(make(marks_.at(key), function.getContext()), place);
      if (is_traced())
        fmt::print(stderr, "rdb: {} dropped a mark in {}, put back into '{}'\n", pass.str(),
                   function.getName().str(), block->getName().str());
    }
  marks_.clear();
}

} // namespace rdb::codegen
