// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/snapshots.h"

#include "codegen-patch/debug_names.h"
#include "codegen-patch/labels.h"
#include "codegen-patch/records.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace rdb::codegen {

using namespace llvm;

namespace {

constexpr StringLiteral kVariables = "rdb.var.";

bool is_copy(const DbgRecord& record, const DbgLabelRecord& label) {
  const auto* other = dyn_cast<DbgLabelRecord>(&record);
  return other && other != &label && other->getLabel() == label.getLabel() &&
         other->getDebugLoc().getInlinedAt() == label.getDebugLoc().getInlinedAt();
}

// The variables of one copy of a region's host, by what the function has of them.
struct Found {
  std::set<std::pair<std::string, const DILocation*>> declared, recorded, taken;
};

Found find_variables(Function& function) {
  Found found;
  for (Instruction& instruction : instructions(function))
    for (DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange())) {
      std::string name = record.getVariable()->getName().str();
      std::pair key(name, record.getDebugLoc().getInlinedAt());
      if (StringRef(name).starts_with(kSnapshotName))
        found.taken.insert(key);
      else if (StringRef(name).starts_with(kVariables))
        (record.isDbgDeclare() ? found.declared : found.recorded).insert(key);
    }
  return found;
}

} // namespace

std::string Snapshots::name(size_t function, size_t position) {
  return fmt::format("{}{}.{}", kSnapshotName, function, position);
}

// Records before a label and records behind it get an instruction between them.
void Snapshots::before(Function& function) {
  stale_.find(function);
  for (DbgLabelRecord* label : labels_in(function)) {
    Instruction* next = label->getMarker()->MarkedInstr;
    std::vector<DbgRecord*> behind;
    for (auto record = label->getIterator(); record != label->getMarker()->StoredDbgRecords.end(); ++record)
      behind.push_back(&*record);
    Function* nothing = Intrinsic::getOrInsertDeclaration(function.getParent(), Intrinsic::donothing);
    CallInst* barrier = CallInst::Create(nothing);
    barrier->insertBefore(*next->getParent(), next->getIterator());
    for (DbgRecord* record : behind) {
      record->removeFromParent();
      next->getParent()->insertDbgRecordBefore(record, next->getIterator());
    }
    barriers_.push_back(barrier);
  }
}

void Snapshots::after(Function& function) {
  for (Instruction* barrier : barriers_)
    barrier->eraseFromParent();
  barriers_.clear();
  std::vector<DbgLabelRecord*> labels = labels_in(function);
  if (labels.empty()) return;
  Found found = find_variables(function);
  std::map<DbgLabelRecord*, std::vector<size_t>> missing; // positions
  for (DbgLabelRecord* label : labels) {
    size_t index = *parse_label(label->getLabel()->getName());
    const DILocation* inlined_at = label->getDebugLoc().getInlinedAt();
    const extractor::DebugFunction& debug = extraction_.functions[index];
    for (size_t position = 0; position < debug.variables.size(); ++position) {
      if (debug.variables[position].kind == extractor::Variable::Kind::kActivation) continue;
      Copy copy(&function, inlined_at, index, position);
      std::pair own(variable_record_name(debug.variables[position]), inlined_at);
      if (found.declared.contains(own)) {
        if (found.recorded.contains(own)) mixed_.insert(copy);
      } else if (!found.taken.contains({name(index, position), inlined_at}) && !taken_.contains(copy)) {
        missing[label].push_back(position);
      }
    }
  }
  if (missing.empty()) return;
  auto reaching = reaching_records(function, kVariables);
  for (BasicBlock& block : function) {
    PieceRecords state = reaching[&block];
    for (Instruction& instruction : block)
      for (DbgRecord& record : make_early_inc_range(instruction.getDbgRecordRange())) {
        if (auto* variable = dyn_cast<DbgVariableRecord>(&record)) {
          if (!variable->isDbgDeclare() && variable->getVariable()->getName().starts_with(kVariables))
            update(state, *variable);
        } else if (auto at = missing.find(cast<DbgLabelRecord>(&record)); at != missing.end()) {
          for (size_t position : at->second)
            take(*at->first, *parse_label(at->first->getLabel()->getName()), position, state);
        }
      }
  }
}

void Snapshots::take(DbgLabelRecord& label, size_t function, size_t position, const PieceRecords& reaching) {
  const extractor::Variable& variable = extraction_.functions[function].variables[position];
  std::string own_name = variable_record_name(variable);
  DebugLoc place = label.getDebugLoc();
  auto* scope = cast<DISubprogram>(label.getLabel()->getScope());
  Function* code = label.getMarker()->MarkedInstr->getFunction();
  LLVMContext& context = code->getContext();
  Copy copy(code, place.getInlinedAt(), function, position);
  taken_.insert(copy);
  uint64_t bits = std::max<uint64_t>(variable.size, 1) * 8;
  auto* type = DIBasicType::get(context, dwarf::DW_TAG_base_type, "bytes", bits, 0, dwarf::DW_ATE_unsigned, 0,
                                0, DINode::FlagZero);
  auto* snapshot = DILocalVariable::get(context, scope, name(function, position), scope->getFile(), 1, type,
                                        0, DINode::FlagZero, 0, nullptr);
  std::vector<const DbgVariableRecord*> pieces;
  uint64_t covered = 0;
  for (const auto& [piece, record] : reaching)
    if (piece.inlined_at == place.getInlinedAt() && piece.variable->getScope() == scope &&
        piece.variable->getName() == own_name) {
      pieces.push_back(record);
      covered += piece.size;
    }
  if (covered < variable.size * 8 || pieces.empty() || mixed_.contains(copy) ||
      stale_.contains(label, position)) {
    auto* nothing = PoisonValue::get(Type::getInt64Ty(context));
    auto* record = DbgVariableRecord::createDbgVariableRecord(nothing, snapshot,
                                                              DIExpression::get(context, {}), place.get());
    record->insertBefore(&label);
    return;
  }
  for (const DbgVariableRecord* record : pieces) {
    DbgVariableRecord* own = record->clone();
    own->setVariable(snapshot);
    own->setDebugLoc(place);
    own->insertBefore(&label);
  }
}

// Where copies of a label stand together, of their records too only the last are left.
PieceRecords Snapshots::at_label(DbgLabelRecord& label, const PieceRecords& reaching) {
  PieceRecords own;
  bool is_alone = true;
  bool passed = false;
  size_t function = *parse_label(label.getLabel()->getName());
  std::string prefix = name(function, 0);
  prefix.pop_back(); // of any argument
  for (DbgRecord& record : label.getMarker()->getDbgRecordRange()) {
    if (&record == &label) {
      passed = true;
    } else if (is_copy(record, label)) {
      is_alone = false;
      if (!passed) own.clear();
    } else if (auto* variable = dyn_cast<DbgVariableRecord>(&record);
               variable && !passed && variable->getVariable()->getName().starts_with(prefix) &&
               variable->getDebugLoc().getInlinedAt() == label.getDebugLoc().getInlinedAt()) {
      update(own, *variable);
    }
  }
  return is_alone ? reaching : own;
}

} // namespace rdb::codegen
