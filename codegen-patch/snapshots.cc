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

uint64_t bits_of(const extractor::Variable& variable) {
  return std::max<uint64_t>(variable.size, 1) * 8;
}

bool is_copy(const DbgRecord& record, const DbgLabelRecord& label) {
  const auto* other = dyn_cast<DbgLabelRecord>(&record);
  return other && other != &label && other->getLabel() == label.getLabel() &&
         other->getDebugLoc().getInlinedAt() == label.getDebugLoc().getInlinedAt();
}

// Which bits of variables are in memory, and of which arguments there are values, by name and copy of the
// region's host.
using Bits = std::map<std::pair<std::string, const DILocation*>, std::vector<Extent>>;
struct Found {
  Bits in_memory, taken;
};

Found find_variables(Function& function) {
  Found found;
  for (Instruction& instruction : instructions(function))
    for (DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange())) {
      std::string name = record.getVariable()->getName().str();
      std::pair key(name, record.getDebugLoc().getInlinedAt());
      Piece piece = piece_of(record);
      Extent bits{piece.offset, piece.offset + piece.size};
      if (StringRef(name).starts_with(kSnapshotName))
        found.taken[key].push_back(bits);
      else if (StringRef(name).starts_with(kVariables) && record.isDbgDeclare() && !record.isKillLocation())
        found.in_memory[key].push_back(bits);
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
    std::vector<DbgRecord*> ahead;
    for (auto record = label->getMarker()->StoredDbgRecords.begin(); record != label->getIterator(); ++record)
      ahead.push_back(&*record);
    Function* nothing = Intrinsic::getOrInsertDeclaration(function.getParent(), Intrinsic::donothing);
    CallInst* barrier = CallInst::Create(nothing);
    BasicBlock::iterator place = next->getIterator();
    place.setHeadBit(true); // the records stay with what follows
    barrier->insertBefore(*next->getParent(), place);
    for (DbgRecord* record : ahead) {
      record->removeFromParent();
      next->getParent()->insertDbgRecordBefore(record, barrier->getIterator());
    }
    barriers_.push_back(barrier);
  }
}

void Snapshots::after(Function& function) {
  // Starting with the last one: the records of each go to the instruction after it.
  for (Instruction* barrier : reverse(barriers_))
    barrier->eraseFromParent();
  barriers_.clear();
  std::vector<DbgLabelRecord*> labels = labels_in(function);
  if (labels.empty()) return;
  Found found = find_variables(function);
  struct Missing {
    size_t position;
    Extent bits;
  };
  std::map<DbgLabelRecord*, std::vector<Missing>> missing;
  std::map<Copy, std::vector<Extent>> leaving;
  for (DbgLabelRecord* label : labels) {
    size_t index = *parse_label(label->getLabel()->getName());
    const DILocation* inlined_at = label->getDebugLoc().getInlinedAt();
    const extractor::DebugFunction& debug = extraction_.functions[index];
    for (size_t position = 0; position < debug.variables.size(); ++position) {
      const extractor::Variable& variable = debug.variables[position];
      if (variable.kind == extractor::Variable::Kind::kActivation) continue;
      Copy copy(&function, inlined_at, index, position);
      std::vector<Extent> known = taken_[copy];
      for (const auto& [bits, own_name] : {std::pair(&found.in_memory, variable_record_name(variable)),
                                           std::pair(&found.taken, name(index, position))})
        if (auto own = bits->find({own_name, inlined_at}); own != bits->end())
          known.insert(known.end(), own->second.begin(), own->second.end());
      for (const Extent& gap : gaps_in({0, bits_of(variable)}, known)) {
        missing[label].push_back({position, gap});
        leaving[copy].push_back(gap);
      }
    }
  }
  if (missing.empty()) return;
  for (auto& [copy, bits] : leaving)
    taken_[copy].insert(taken_[copy].end(), bits.begin(), bits.end());
  auto reaching = reaching_records(function, kVariables);
  Variables variables;
  for (Instruction& instruction : instructions(function))
    for (const DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange()))
      if (const DILocalVariable* variable = record.getVariable(); variable->getName().starts_with(kVariables))
        variables[{variable->getName(), variable->getScope()}].insert(variable);
  for (BasicBlock& block : function) {
    PieceRecords state = reaching[&block];
    for (Instruction& instruction : block)
      for (DbgRecord& record : make_early_inc_range(instruction.getDbgRecordRange())) {
        if (auto* variable = dyn_cast<DbgVariableRecord>(&record)) {
          if (!variable->isDbgDeclare() && variable->getVariable()->getName().starts_with(kVariables))
            update(state, *variable);
        } else if (auto at = missing.find(cast<DbgLabelRecord>(&record)); at != missing.end()) {
          for (const Missing& one : at->second)
            take(*at->first, one.position, one.bits, state, variables);
        }
      }
  }
}

void Snapshots::take(DbgLabelRecord& label, size_t position, const Extent& bits, const PieceRecords& reaching,
                     const Variables& variables) const {
  size_t function = *parse_label(label.getLabel()->getName());
  const extractor::Variable& variable = extraction_.functions[function].variables[position];
  std::string own_name = variable_record_name(variable);
  DebugLoc place = label.getDebugLoc();
  auto* scope = cast<DISubprogram>(label.getLabel()->getScope());
  LLVMContext& context = scope->getContext();
  auto* type = DIBasicType::get(context, dwarf::DW_TAG_base_type, "bytes", bits_of(variable), 0,
                                dwarf::DW_ATE_unsigned, 0, 0, DINode::FlagZero);
  auto* snapshot = DILocalVariable::get(context, scope, name(function, position), scope->getFile(), 1, type,
                                        0, DINode::FlagZero, 0, nullptr);
  std::vector<Extent> known;
  bool is_stale = stale_.contains(label, position, bits);
  auto take_piece = [&](const Piece& piece, const DbgVariableRecord& record) {
    Extent own{piece.offset, piece.offset + piece.size};
    if (!bits.contains(own)) return;
    DbgVariableRecord* copy = record.clone();
    copy->setVariable(snapshot);
    copy->setDebugLoc(place);
    copy->insertBefore(&label);
    known.push_back(own);
  };
  auto same = variables.find({own_name, scope});
  if (!is_stale && same != variables.end())
    for (const DILocalVariable* own : same->second)
      for (auto next = reaching.lower_bound({own, place.getInlinedAt(), 0, 0});
           next != reaching.end() && next->first.variable == own &&
           next->first.inlined_at == place.getInlinedAt();
           ++next)
        take_piece(next->first, *next->second);
  // Nothing is said of the rest, whatever the records ahead of these say.
  for (const Extent& rest : gaps_in(bits, known)) {
    DIExpression* expression = DIExpression::get(context, {});
    if (rest != Extent{0, bits_of(variable)})
      expression = *DIExpression::createFragmentExpression(expression, static_cast<unsigned>(rest.begin),
                                                           static_cast<unsigned>(rest.end - rest.begin));
    auto* nothing = PoisonValue::get(Type::getInt64Ty(context));
    DbgVariableRecord::createDbgVariableRecord(nothing, snapshot, expression, place.get())
        ->insertBefore(&label);
    if (is_traced())
      fmt::print(stderr, "rdb: no value of bits {} to {} of '{}' ({}){}\n", rest.begin, rest.end,
                 variable.name, name(function, position), is_stale ? ": stale" : "");
  }
}

// Where copies of a label stand together, of their records too only the last are left.
std::optional<PieceRecords> Snapshots::beside_copies(DbgLabelRecord& label) {
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
  return is_alone ? std::nullopt : std::optional(own);
}

} // namespace rdb::codegen
