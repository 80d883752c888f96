// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/bypassed.h"

#include "codegen-patch/debug_names.h"
#include "codegen-patch/records.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

#include <set>

namespace rdb::codegen {

using namespace llvm;

namespace {

constexpr const char* kName = "rdb.block.";

std::optional<size_t> number_of(const DbgRecord& record) {
  const auto* label = dyn_cast<DbgLabelRecord>(&record);
  return label ? parse_number(label->getLabel()->getName(), kName) : std::nullopt;
}

bool is_mark(const DbgRecord& record) {
  return number_of(record).has_value();
}

// Takes the marks away. Those of which there is not exactly one: the block is gone, or there are copies.
std::set<size_t> erase_marks(Function& function, size_t last) {
  std::vector<unsigned> count(last + 1);
  for (Instruction& instruction : instructions(function))
    for (DbgRecord& record : make_early_inc_range(instruction.getDbgRecordRange()))
      if (auto number = number_of(record)) {
        ++count[*number];
        record.eraseFromParent();
      }
  std::set<size_t> found;
  for (size_t number = 1; number <= last; ++number)
    if (count[number] != 1) found.insert(number);
  return found;
}

} // namespace

void Bypassed::before(Function& function) {
  records_.clear();
  of_variable_.clear();
  std::map<BasicBlock*, unsigned> numbers;
  for (const DbgVariableRecord* record : value_records_of(function)) {
    Named named{record->getVariable(), record->getDebugLoc().getInlinedAt(), {}};
    for (Value* value : record->location_ops()) {
      auto* instruction = dyn_cast<Instruction>(value);
      unsigned number = 0;
      if (instruction)
        number = numbers.try_emplace(instruction->getParent(), numbers.size() + 1).first->second;
      named.operands.push_back(
          {value, number, instruction && instruction->getParent() == record->getParent()});
    }
    if (none_of(named.operands, [](const Operand& operand) { return operand.block != 0; })) continue;
    const Named& known = records_.emplace(record, std::move(named)).first->second;
    of_variable_[{known.variable, known.inlined_at}].push_back(&known);
  }
  if (records_.empty()) return;
  DISubprogram* scope = function.getSubprogram();
  DILocation* at = DILocation::get(function.getContext(), 1, 0, scope);
  for (const auto& [block, number] : numbers) {
    auto* label = DILabel::get(function.getContext(), scope, kName + std::to_string(number), scope->getFile(),
                               1, 0, false, std::nullopt);
    BasicBlock::iterator place = block->getFirstNonPHIIt();
    place.setHeadBit(true);
    block->insertDbgRecordBefore(new DbgLabelRecord(label, DebugLoc(at)), place);
  }
  marks_.before(function, is_mark, DroppedRecords::Code::kIsReplaced, DroppedRecords::Turns::kDoNotMatter,
                ++pass_);
}

// Does it name something else now, for a value of a block that can be passed by?
bool Bypassed::is_bypassed(const Named& before, const DbgVariableRecord& now) const {
  bool is_as_long = now.getNumVariableLocationOps() == before.operands.size();
  for (unsigned i = 0; i < before.operands.size(); ++i) {
    const Operand& operand = before.operands[i];
    bool is_same = is_as_long && operand.value && now.getVariableLocationOp(i) == operand.value;
    if (!is_same && bypassed_.contains(operand.block)) return true;
  }
  return false;
}

bool Bypassed::is_copy_for_bypass(const DbgVariableRecord& record) const {
  bool is_suspect = false;
  auto same = of_variable_.find({record.getVariable(), record.getDebugLoc().getInlinedAt()});
  if (same == of_variable_.end()) return false;
  for (const Named* named : same->second) {
    if (!any_of(named->operands, [&](const Operand& operand) { return bypassed_.contains(operand.block); }))
      continue;
    if (!is_bypassed(*named, record)) return false; // it names the same
    is_suspect = true;
  }
  return is_suspect;
}

void Bypassed::after(StringRef pass, Function& function) {
  if (records_.empty()) return;
  size_t last = 0;
  for (const auto& [record, named] : records_)
    for (const Operand& operand : named.operands)
      last = std::max<size_t>(last, operand.block);
  std::map<DroppedRecords::Key, DroppedRecords::Gaps> dropped = marks_.after(function);
  bypassed_ = erase_marks(function, last);
  for (const auto& [mark, gaps] : dropped)
    bypassed_.insert(*parse_number(cast<DILabel>(std::get<1>(mark))->getName(), kName));
  DominatorTree tree(function);
  for (DbgVariableRecord* record : value_records_of(function)) {
    auto is_undefined = [&](const Value* value) {
      const auto* instruction = dyn_cast<Instruction>(value);
      return instruction && !tree.dominates(instruction, record->getInstruction());
    };
    auto found = records_.find(record);
    bool is_known = found != records_.end() && found->second.variable == record->getVariable();
    bool is_far = is_known && any_of(found->second.operands, [](const Operand& one) { return !one.is_near; });
    bool is_lost = any_of(record->location_ops(), is_undefined) ||
                   (is_known ? is_far && is_bypassed(found->second, *record) : is_copy_for_bypass(*record));
    if (!is_lost) continue;
    if (is_traced())
      fmt::print(stderr, "rdb: {} leads a way past the value of '{}' in {}\n", pass.str(),
                 record->getVariable()->getName().str(), function.getName().str());
    record->setKillLocation();
  }
  records_.clear();
}

} // namespace rdb::codegen
