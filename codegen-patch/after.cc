// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// After optimisation, before instruction selection. From here on the compiler does not keep the order of
// labels and variable records that share an address. So the value that reaches each label is found now and
// given a record of its own right at the label; all other records go.
#include "codegen-patch/debug_names.h"
#include "codegen-patch/placement.h"
#include "codegen-patch/reach.h"
#include "codegen-patch/record_flow.h"
#include "codegen-patch/records.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <optional>
#include <set>

namespace rdb::codegen {

namespace {

using namespace llvm;

bool is_ours(const DbgVariableRecord& record) {
  StringRef name = record.getVariable()->getName();
  return name.starts_with("rdb.var.") || name.starts_with(kSnapshotName);
}

// A constant needs no record: it is the same everywhere.
std::optional<descriptors::Part> constant_part(const DbgVariableRecord& record, const Piece& piece) {
  if (record.getNumVariableLocationOps() != 1) return std::nullopt;
  auto elements = record.getExpression()->getElements();
  bool plain = elements.empty() || (elements.size() == 3 && elements[0] == dwarf::DW_OP_LLVM_fragment) ||
               (elements.size() == 1 && elements[0] == dwarf::DW_OP_stack_value);
  if (!plain) return std::nullopt;
  APInt bits;
  Value* value = record.getVariableLocationOp(0);
  if (auto* integer = dyn_cast<ConstantInt>(value))
    bits = integer->getValue();
  else if (auto* number = dyn_cast<ConstantFP>(value))
    bits = number->getValueAPF().bitcastToAPInt();
  else if (isa<ConstantPointerNull>(value))
    bits = APInt(64, 0);
  else
    return std::nullopt;
  descriptors::Part part;
  part.offset = piece.offset / 8;
  part.size = piece.size / 8;
  part.cls = descriptors::Class::kConstant;
  // A boolean is one bit here and one byte in memory; anything else narrower than its variable is not known.
  if (bits.getBitWidth() < piece.size && !(bits.getBitWidth() == 1 && piece.size == 8)) return std::nullopt;
  bits = bits.zextOrTrunc(static_cast<unsigned>(piece.size));
  for (unsigned i = 0; i < part.size; ++i)
    part.bytes.push_back(static_cast<char>(bits.extractBitsAsZExtValue(8, i * 8)));
  return part;
}

} // namespace

namespace {

// Is the variable's value, or address, the one value that the record names?
bool is_plain(const DbgVariableRecord& record) {
  return !record.isKillLocation() && record.getNumVariableLocationOps() == 1 &&
         record.getExpression()->getElements().empty();
}

// Is a part of the variable all that is at the one address that the record names?
bool is_part(const DbgVariableRecord& record) {
  auto elements = record.getExpression()->getElements();
  return !record.isKillLocation() && record.getNumVariableLocationOps() == 1 && elements.size() == 3 &&
         elements[0] == dwarf::DW_OP_LLVM_fragment && elements[1] % 8 == 0 && elements[2] % 8 == 0;
}

// Labels of one function, with the state of records at each.
struct LabelAt {
  DbgLabelRecord* record;
  const DILocation* inlined_at;
  PieceRecords state;
};

// The marks have served: nothing of them may reach code generation.
void erase_marks(Function& function) {
  for (Instruction& instruction : instructions(function)) {
    instruction.setMetadata(LLVMContext::MD_DIAssignID, nullptr);
    for (DbgRecord& record : make_early_inc_range(instruction.getDbgRecordRange())) {
      auto* label = dyn_cast<DbgLabelRecord>(&record);
      StringRef name =
          label ? label->getLabel()->getName() : cast<DbgVariableRecord>(record).getVariable()->getName();
      if (WriteTags::is_mark(name) || CallMarks::is_mark(name) || parse_astray(name))
        record.eraseFromParent();
    }
  }
}

// Code generation would look for variables in assignments, of which there are none left.
void erase_flag(Module& module) {
  NamedMDNode* flags = module.getModuleFlagsMetadata();
  if (!flags) return;
  std::vector<MDNode*> kept;
  for (MDNode* flag : flags->operands())
    if (cast<MDString>(flag->getOperand(1))->getString() != kAssignmentsFlag) kept.push_back(flag);
  flags->clearOperands();
  for (MDNode* flag : kept)
    flags->addOperand(flag);
}

// Does the optimiser believe that a call of this function may read the variable? If not, its callers need not
// have brought the variable up to date.
bool may_read(const Function& function, const GlobalVariable& variable, std::set<const Function*>& seen) {
  if (!seen.insert(&function).second) return false;
  for (const Instruction& instruction : instructions(function)) {
    if (auto* call = dyn_cast<CallBase>(&instruction); call && !isa<IntrinsicInst>(call)) {
      const Function* callee = call->getCalledFunction();
      if (!callee || callee->isInterposable()) return true;
      if (!callee->isDeclaration() ? may_read(*callee, variable, seen)
                                   : !callee->hasFnAttribute(Attribute::NoCallback))
        return true;
    }
    if (instruction.mayReadFromMemory())
      for (const Value* operand : instruction.operands())
        if (operand->getType()->isPointerTy() && getUnderlyingObject(operand, 0) == &variable) return true;
  }
  return false;
}

// Is the label in a loop of which the vectoriser made another one? That one does its turns without the label.
bool in_vectorised_loop(const BasicBlock* block, const LoopInfo& loops) {
  for (const Loop* loop = loops.getLoopFor(block); loop; loop = loop->getParentLoop())
    if (getBooleanLoopAttribute(loop, "llvm.loop.isvectorized")) return true;
  return false;
}

bool has_label(Function& function, bool (*is_wanted)(StringRef)) {
  return any_of(instructions(function), [&](Instruction& instruction) {
    return any_of(instruction.getDbgRecordRange(), [&](DbgRecord& record) {
      auto* label = dyn_cast<DbgLabelRecord>(&record);
      return label && is_wanted(label->getLabel()->getName());
    });
  });
}

bool is_region(StringRef name) {
  return parse_label(name).has_value();
}

bool is_region_or_astray(StringRef name) {
  return region_of_label(name).has_value();
}

// Leaves of the records those that tell of calls: their marks, and one of each copy of a function.
void keep_calls(Function& function) {
  std::set<const DILocation*> copies;
  for (Instruction& instruction : instructions(function)) {
    instruction.setMetadata(LLVMContext::MD_DIAssignID, nullptr);
    for (DbgRecord& record : make_early_inc_range(instruction.getDbgRecordRange())) {
      auto* label = dyn_cast<DbgLabelRecord>(&record);
      const DILocation* copy = record.getDebugLoc().getInlinedAt();
      if (!(label && CallMarks::is_mark(label->getLabel()->getName())) &&
          !(copy && copies.insert(copy).second))
        record.eraseFromParent();
    }
  }
}

} // namespace

void Placement::after_inlining(Module& module) {
  for (Function& function : module) {
    if (function.isDeclaration() || has_label(function, is_region_or_astray)) continue;
    if (has_label(function, CallMarks::is_mark))
      keep_calls(function);
    else
      stripDebugInfo(function);
  }
}

void Placement::after_optimisation(Module& module) {
  DIBuilder builder(module, /*AllowUnresolved=*/false);
  std::set<size_t> left_out = calls_.left_out_at_start(module);
  for (const Function& function : module)
    if (!function.isDeclaration()) left_out.merge(calls_.left_out(function, inlining_));
  for (size_t region : left_out)
    lost_.push_back({region, "the optimiser left out calls that lead to it"});
  for (size_t region : dropped_)
    lost_.push_back({region, "the optimiser left no place for it on some paths"});
  for (Function& function : module) {
    if (function.isDeclaration()) continue;
    std::vector<LabelAt> labels;
    std::vector<DbgVariableRecord*> records;
    std::vector<DbgVariableRecord*> declared;
    for (Instruction& instruction : instructions(function))
      for (DbgRecord& record : instruction.getDbgRecordRange())
        if (auto* label = dyn_cast<DbgLabelRecord>(&record))
          if (auto number = parse_astray(label->getLabel()->getName()))
            lost_.push_back({*number, "its code became one with that of another path"});
    if (!has_label(function, is_region)) {
      stripDebugInfo(function);
      continue;
    }
    auto reaching = reaching_records(function, kSnapshotName);
    for (BasicBlock& block : function) {
      PieceRecords state = reaching[&block];
      for (Instruction& instruction : block)
        for (DbgRecord& record : instruction.getDbgRecordRange()) {
          if (auto* label = dyn_cast<DbgLabelRecord>(&record)) {
            if (parse_label(label->getLabel()->getName()))
              labels.push_back(
                  {label, label->getDebugLoc().getInlinedAt(), Snapshots::at_label(*label, state)});
          } else if (auto* variable = dyn_cast<DbgVariableRecord>(&record); variable && is_ours(*variable)) {
            if (variable->isDbgDeclare() && !variable->isKillLocation())
              declared.push_back(variable);
            else if (variable->getVariable()->getName().starts_with(kSnapshotName))
              update(state, *variable);
            records.push_back(variable);
          }
        }
    }
    if (!optimised_) number_code(function);
    std::vector<DbgLabelRecord*> label_records;
    label_records.reserve(labels.size());
    for (LabelAt& at : labels)
      label_records.push_back(at.record);
    WriteTags::StaleAt stale;
    if (optimised_) stale = tags_.find_stale(function, label_records);
    DominatorTree tree(function);
    LoopInfo loops(tree);
    AliasQueries queries(function);
    std::map<size_t, std::vector<Reach>> reach; // by instance
    DISubprogram* own_scope = function.getSubprogram();
    DILocation* here = DILocation::get(module.getContext(), 1, 0, own_scope);
    std::set<const BasicBlock*> reached = reachable_blocks(function);
    frozen_in_[&function] = {frozen_.size(), frozen_.size() + labels.size()};
    for (LabelAt& at : labels) {
      size_t index = *parse_label(at.record->getLabel()->getName());
      size_t instance = frozen_.size();
      const extractor::DebugFunction& debug = extraction_.functions[index];
      Frozen& frozen = frozen_.emplace_back();
      frozen.function = index;
      frozen.is_reached = reached.contains(at.record->getInstruction()->getParent());
      frozen.known.resize(debug.variables.size());
      frozen.is_value.resize(debug.variables.size());
      DILabel* old_label = at.record->getLabel();
      auto* scope = cast<DISubprogram>(old_label->getScope());
      const DILocation* inlined_at = at.inlined_at;
      frozen.scope = scope;
      frozen.inlined_at = inlined_at;
      frozen.stale = stale[at.record];
      for (const auto& [name, follow] : debug.globals_read)
        if (GlobalVariable* variable = module.getNamedGlobal(name);
            optimised_ && variable && variable->hasLocalLinkage()) {
          std::set<const Function*> seen;
          if (!may_read(function, *variable, seen)) frozen.stale.push_back(global_target(name));
        }
      if (optimised_ && tags_.lost_recursion(function, *at.record))
        frozen.lost = "the optimiser turned a recursion around it into a loop";
      if (in_vectorised_loop(at.record->getInstruction()->getParent(), loops))
        frozen.lost = "the optimiser made a loop around it do several turns at once";
      std::vector<Reach>& memory = reach[instance];
      memory.resize(debug.variables.size());
      std::vector<const Value*> homes(debug.variables.size());
      for (size_t position = 0; position < debug.variables.size(); ++position) {
        const extractor::Variable& variable = debug.variables[position];
        memory[position].follow = &variable;
        if (variable.kind == extractor::Variable::Kind::kActivation) continue;
        std::string name = variable_record_name(variable);
        bool is_in_memory = false;
        for (DbgVariableRecord* record : declared)
          if (record->getVariable()->getName() == name && record->getVariable()->getScope() == scope &&
              record->getDebugLoc().getInlinedAt() == inlined_at) {
            is_in_memory = true;
            homes[position] = record->getVariableLocationOp(0);
            if (is_plain(*record)) memory[position].own = record->getVariableLocationOp(0);
            if (Piece piece = piece_of(*record); is_part(*record))
              memory[position].parts.push_back(
                  {record->getVariableLocationOp(0), {piece.offset / 8, (piece.offset + piece.size) / 8}});
          }
        if (!optimised_) continue; // its own record serves
        uint64_t covered = 0;
        std::vector<std::pair<Piece, const DbgVariableRecord*>> pieces;
        std::string snapshot_name = Snapshots::name(index, position);
        for (auto& [piece, record] : at.state)
          if (piece.variable->getName() == snapshot_name && piece.variable->getScope() == scope &&
              piece.inlined_at == inlined_at) {
            pieces.push_back({piece, record});
            covered += piece.size;
          }
        // A record that names something computed from the variable is not to be believed.
        std::erase_if(pieces, [&](const auto& entry) {
          std::vector<Value*> values;
          for (Value* value : entry.second->location_ops()) {
            values.push_back(value);
            if (auto* phi = dyn_cast<PHINode>(value))
              values.insert(values.end(), phi->op_begin(), phi->op_end());
          }
          for (Value* value : values) {
            auto* instruction = dyn_cast<Instruction>(value);
            const DILocation* at_value = instruction ? instruction->getDebugLoc().get() : nullptr;
            if (at_value && at_value->getInlinedAt() == inlined_at &&
                at_value->getScope()->getSubprogram() == scope &&
                derived_[{scope, name}].contains(at_value->getLine()) &&
                entry.second->getExpression()->getElements().empty())
              return true;
          }
          return false;
        });
        if (pieces.empty() && is_in_memory) continue; // its own record serves
        if (pieces.empty()) {
          frozen.known[position] = {unavailable(variable.size, "optimised out")};
          continue;
        }
        if (!is_in_memory && pieces.size() == 1 && is_plain(*pieces[0].second) &&
            pieces[0].second->getVariableLocationOp(0)->getType()->isPointerTy())
          memory[position].behind = pieces[0].second->getVariableLocationOp(0);
        DILocalVariable* snapshot =
            builder.createAutoVariable(own_scope, value_name(instance, position), own_scope->getFile(), 1,
                                       pieces[0].first.variable->getType(), true);
        // An array of variable length has no size here: no constant is all of it.
        bool all_constant = variable.size != 0 && covered >= variable.size * 8;
        std::vector<descriptors::Part> constants;
        for (auto& [piece, record] : pieces) {
          auto part = record->isKillLocation() ? std::nullopt : constant_part(*record, piece);
          if (!part) {
            all_constant = false;
            break;
          }
          constants.push_back(*part);
        }
        if (all_constant) {
          frozen.known[position] = constants;
          continue;
        }
        // Where it is in memory then, the compiler put it there for itself.
        frozen.is_value[position] = !is_in_memory && none_of(pieces, [](const auto& entry) {
          return is_contained(entry.second->getExpression()->getElements(), dwarf::DW_OP_deref);
        });
        if (!is_in_memory && !frozen.is_value[position])
          homes[position] = pieces[0].second->getVariableLocationOp(0);
        for (auto& [piece, record] : pieces) {
          DbgVariableRecord* copy = record->clone();
          copy->setVariable(snapshot);
          copy->setDebugLoc(here);
          copy->insertBefore(at.record);
        }
      }
      for (const Reach& pointer : memory) {
        const Value* home = homes[frozen.origins.size()];
        Frozen::Origin& origin = frozen.origins.emplace_back();
        if (auto* parameter = dyn_cast_or_null<Argument>(home ? getUnderlyingObject(home, 0) : nullptr))
          origin.home = static_cast<int>(parameter->getArgNo());
        const Value* object = pointer.behind ? getUnderlyingObject(pointer.behind, 0) : nullptr;
        if (auto* parameter = dyn_cast_or_null<Argument>(object))
          origin.parameter = static_cast<int>(parameter->getArgNo());
        SmallVector<const Value*> objects;
        if (pointer.behind) getUnderlyingObjects(pointer.behind, objects, nullptr, 0);
        origin.is_loaded =
            !objects.empty() && all_of(objects, [](const Value* from) { return isa<LoadInst>(from); });
        origin.is_local = object && (isa<AllocaInst>(object) || isNoAliasCall(object));
      }
      for (const auto& [name, follow] : debug.globals_read)
        memory.push_back({module.getNamedGlobal(name), nullptr, &follow});
      for (Target& target : frozen.stale)
        queries.spare(target, memory);
      // In the scope of the whole function: what belongs to an inlined one is kept only where that has code.
      frozen.block = at.record->getParent();
      frozen.label = builder.createLabel(own_scope, instance_name(instance), own_scope->getFile(),
                                         old_label->getLine(), 0, false, std::nullopt, true);
      at.record->setLabel(frozen.label);
      frozen.at = optimised_ ? here : at.record->getDebugLoc().get();
      at.record->setDebugLoc(frozen.at);
    }
    if (optimised_)
      for (DbgVariableRecord* record : records)
        if (!record->isDbgDeclare()) record->eraseFromParent();
    erase_marks(function);
    if (optimised_) prepared_[&function].before(function, ValueCheck::Phis::kNeedAll);
    if (optimised_)
      order_.record(function, [&](Target& target, size_t instance) {
        if (target.kind == Target::Kind::kGlobal) target.escapes = tags_.is_pointed_to(target.global);
        queries.spare(target, reach[instance]);
      });
  }
  builder.finalize();
  erase_flag(module);
  // Without a compile unit nothing is written for debuggers, and unwind tables stay as they would be.
  if (NamedMDNode* units = module.getNamedMetadata("llvm.dbg.cu")) units->eraseFromParent();
}

} // namespace rdb::codegen
