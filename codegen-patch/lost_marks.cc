// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/lost_marks.h"

#include "codegen-patch/call_marks.h"
#include "codegen-patch/debug_names.h"
#include "codegen-patch/records.h"
#include "codegen-patch/write_tags.h"

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"

#include <algorithm>
#include <vector>

namespace rdb::codegen {

using namespace llvm;

namespace {

// The blocks from which a label can be reached, or the mark of a call.
SmallPtrSet<const BasicBlock*, 16> blocks_ahead_of_labels(const Function& function) {
  SmallPtrSet<const BasicBlock*, 16> found;
  std::vector<const BasicBlock*> work;
  auto add = [&](const BasicBlock* block) {
    if (found.insert(block).second) work.push_back(block);
  };
  for (const BasicBlock& block : function)
    if (any_of(block, [](const Instruction& instruction) {
          return any_of(instruction.getDbgRecordRange(), [](const DbgRecord& record) {
            return isa<DbgLabelRecord>(record) &&
                   (parse_label(name_of(record)) || CallMarks::is_mark(name_of(record)));
          });
        }))
      add(&block);
  while (!work.empty()) {
    const BasicBlock* block = work.back();
    work.pop_back();
    for (const BasicBlock* before : predecessors(block))
      add(before);
  }
  return found;
}

// The writes of a function that marks can stand for.
class Writes {
public:
  void note(const Instruction& instruction) {
    if (!instruction.mayWriteToMemory()) return;
    if (const MDNode* id = instruction.getMetadata(LLVMContext::MD_DIAssignID)) written_.insert(id);
    if (const DILocation* at = instruction.getDebugLoc()) places_.insert({at->getLine(), at->getInlinedAt()});
  }
  bool has(const DbgRecord& mark) const {
    if (const auto* assignment = dyn_cast<DbgVariableRecord>(&mark))
      return written_.contains(assignment->getAssignID());
    return places_.contains(
        {cast<DbgLabelRecord>(mark).getLabel()->getLine(), mark.getDebugLoc().getInlinedAt()});
  }

private:
  DenseSet<const Metadata*> written_;
  DenseSet<std::pair<unsigned, const DILocation*>> places_;
};

} // namespace

// The mark of a write to a variable that is not in memory any more says nothing.
bool LostMarks::is_mark(const DbgRecord& record) {
  const auto* variable = dyn_cast<DbgVariableRecord>(&record);
  return CallMarks::is_mark(name_of(record)) ||
         (WriteTags::is_mark(name_of(record)) && (!variable || variable->isDbgAssign()));
}

LostMarks::Mark LostMarks::take_down(const DbgRecord& record) {
  Mark mark{std::get<1>(DroppedRecords::key_of(record)), record.getDebugLoc()};
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

void LostMarks::before(Function& function, unsigned version) {
  if (function_ == &function && version_ == version) return;
  function_ = &function;
  version_ = version;
  marks_.clear();
  SmallPtrSet<const BasicBlock*, 16> ahead = blocks_ahead_of_labels(function);
  if (ahead.empty()) return;
  Writes writes;
  std::vector<const DbgRecord*> wanted;
  for (const BasicBlock& block : function) {
    bool is_ahead = ahead.contains(&block);
    for (const Instruction& instruction : block) {
      if (kind_ == Marks::kWithoutWrite) writes.note(instruction);
      if (!is_ahead) continue;
      for (const DbgRecord& record : instruction.getDbgRecordRange())
        if (is_mark(record)) wanted.push_back(&record);
    }
  }
  std::erase_if(wanted, [&](const DbgRecord* mark) { return writes.has(*mark); });
  if (wanted.empty()) return;
  dropped_.before(function, is_mark,
                  kind_ == Marks::kAll ? DroppedRecords::Code::kStays : DroppedRecords::Code::kIsReplaced,
                  DroppedRecords::Turns::kDoNotMatter, version);
  marks_.reserve(wanted.size());
  for (const DbgRecord* record : wanted)
    marks_.emplace_back(DroppedRecords::key_of(*record), take_down(*record));
}

const LostMarks::Mark* LostMarks::find(const DroppedRecords::Key& key) const {
  auto found = std::ranges::lower_bound(marks_, key, {}, &std::pair<DroppedRecords::Key, Mark>::first);
  return found != marks_.end() && found->first == key ? &found->second : nullptr;
}

bool LostMarks::after(StringRef pass, Function& function) {
  if (marks_.empty() || function_ != &function) return false;
  auto is_asked = [this](const DroppedRecords::Key& key) { return find(key) != nullptr; };
  std::map<DroppedRecords::Key, DroppedRecords::Gaps> dropped = dropped_.after(function, is_asked);
  for (const auto& [key, gaps] : dropped)
    for (const BasicBlock* gap : gaps) {
      BasicBlock* block = gap ? const_cast<BasicBlock*>(gap) : &function.getEntryBlock();
      BasicBlock::iterator place = gap ? block->getTerminator()->getIterator() : block->getFirstInsertionPt();
      block->insertDbgRecordBefore(make(*find(key), function.getContext()), place);
      if (is_traced())
        fmt::print(stderr, "rdb: {} dropped a mark in {}, put back into '{}'\n", pass.str(),
                   function.getName().str(), block->getName().str());
    }
  return !dropped.empty();
}

} // namespace rdb::codegen
