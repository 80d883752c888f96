// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From instruction selection on the compiler does not keep the order of labels and variable records that
// share an address. So the value that reaches each label is found ahead of it and given a record of its own
// right at the label; all other records go.
#include "codegen-patch/debug_names.h"
#include "codegen-patch/placement.h"
#include "codegen-patch/reach.h"
#include "codegen-patch/record_flow.h"
#include "codegen-patch/records.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
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

using namespace llvm;

namespace {

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
  part.cls = descriptors::Class::constant;
  // A boolean is one bit here and one byte in memory; anything else narrower than its variable is not known.
  if (bits.getBitWidth() < piece.size && !(bits.getBitWidth() == 1 && piece.size == 8)) return std::nullopt;
  bits = bits.zextOrTrunc(static_cast<unsigned>(piece.size));
  for (unsigned i = 0; i < part.size; ++i)
    part.bytes.push_back(static_cast<char>(bits.extractBitsAsZExtValue(8, i * 8)));
  return part;
}

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

// The marks have served: nothing of them may reach code generation.
void erase_marks(Function& function) {
  for (Instruction& instruction : instructions(function)) {
    instruction.setMetadata(LLVMContext::MD_DIAssignID, nullptr);
    for (DbgRecord& record : make_early_inc_range(instruction.getDbgRecordRange())) {
      StringRef name = name_of(record);
      if (WriteTags::is_mark(name) || CallMarks::is_mark(name) || parse_astray(name))
        record.eraseFromParent();
    }
  }
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

} // namespace

// What is known of one function while its labels are frozen.
class Placement::Freezer {
public:
  Freezer(Placement& placement, Function& function, DIBuilder& builder)
      : placement_(placement), function_(function), builder_(builder), tree_(function), loops_(tree_),
        queries_(function), reached_(reachable_blocks(function)), own_scope_(function.getSubprogram()),
        here_(DILocation::get(function.getContext(), 1, 0, own_scope_)) {}

  void run();

private:
  // A label, and the records of snapshots that reach it.
  struct LabelAt {
    DbgLabelRecord* record;
    const DISubprogram* scope;
    const DILocation* inlined_at;
    PieceRecords state;
    size_t instance; // among those frozen
  };
  using Pieces = std::vector<std::pair<Piece, const DbgVariableRecord*>>;

  void collect();
  PieceRecords records_at(DbgLabelRecord& label, bool has_copies,
                          const std::map<std::string, PieceRecords>& state) const;
  void freeze(LabelAt& at, const WriteTags::Moved& moved);
  std::vector<Target> unread_globals(const extractor::DebugFunction& debug) const;
  std::string why_lost(const DbgLabelRecord& label, const WriteTags::Moved& moved) const;
  // Returns where the argument is in memory, if it is.
  const Value* freeze_argument(const LabelAt& at, size_t position, Reach& memory);
  Pieces pieces_of(const LabelAt& at, size_t position) const;
  bool is_derived(const DbgVariableRecord& record, const LabelAt& at, const std::string& name) const;
  static Frozen::Origin origin_of(const Reach& pointer, const Value* home);

  Placement& placement_;
  Function& function_;
  DIBuilder& builder_;
  DominatorTree tree_;
  LoopInfo loops_;
  AliasQueries queries_;
  std::set<const BasicBlock*> reached_;
  DISubprogram* own_scope_;
  DILocation* here_;
  std::vector<LabelAt> labels_;
  std::vector<DbgVariableRecord*> records_;
  std::map<std::string, std::vector<DbgVariableRecord*>> declared_; // by the names of their variables
  std::map<size_t, std::vector<Reach>> reach_;                      // by instance
};

// The records of the snapshots of a region, out of those that are in force, by name.
PieceRecords Placement::Freezer::records_at(DbgLabelRecord& label, bool has_copies,
                                            const std::map<std::string, PieceRecords>& state) const {
  PieceRecords result;
  if (!placement_.optimised_) return result;
  if (has_copies)
    if (auto beside = Snapshots::beside_copies(label)) return *beside;
  size_t function = *parse_label(label.getLabel()->getName());
  for (size_t i = 0; i < placement_.extraction_.functions[function].variables.size(); ++i)
    if (auto found = state.find(Snapshots::name(function, i)); found != state.end())
      result.insert(found->second.begin(), found->second.end());
  return result;
}

void Placement::Freezer::collect() {
  auto reaching = reaching_records(function_, kSnapshotName);
  for (BasicBlock& block : function_) {
    std::map<std::string, PieceRecords> state; // by the names of variables
    for (const auto& [piece, record] : reaching[&block])
      state[piece.variable->getName().str()].emplace(piece, record);
    for (Instruction& instruction : block) {
      std::map<const DILabel*, unsigned> count; // at this instruction
      for (DbgRecord& record : instruction.getDbgRecordRange())
        if (auto* label = dyn_cast<DbgLabelRecord>(&record)) ++count[label->getLabel()];
      for (DbgRecord& record : instruction.getDbgRecordRange())
        if (auto* label = dyn_cast<DbgLabelRecord>(&record)) {
          if (parse_label(label->getLabel()->getName()))
            labels_.push_back({label, cast<DISubprogram>(label->getLabel()->getScope()),
                               label->getDebugLoc().getInlinedAt(),
                               records_at(*label, count[label->getLabel()] > 1, state),
                               placement_.frozen_.size() + labels_.size()});
        } else if (auto* variable = dyn_cast<DbgVariableRecord>(&record); variable && is_ours(*variable)) {
          StringRef name = variable->getVariable()->getName();
          if (variable->isDbgDeclare() && !variable->isKillLocation())
            declared_[name.str()].push_back(variable);
          else if (name.starts_with(kSnapshotName))
            update(state[name.str()], *variable);
          records_.push_back(variable);
        }
    }
  }
}

std::vector<Target> Placement::Freezer::unread_globals(const extractor::DebugFunction& debug) const {
  std::vector<Target> unread;
  if (!placement_.optimised_) return unread;
  for (const auto& [name, follow] : debug.globals_read)
    if (GlobalVariable* variable = function_.getParent()->getNamedGlobal(name);
        variable && variable->hasLocalLinkage()) {
      std::set<const Function*> seen;
      if (!may_read(function_, *variable, seen)) unread.push_back(global_target(name));
    }
  return unread;
}

std::string Placement::Freezer::why_lost(const DbgLabelRecord& label, const WriteTags::Moved& moved) const {
  if (in_vectorised_loop(label.getInstruction()->getParent(), loops_))
    return "the optimiser made a loop around it do several turns at once";
  if (placement_.optimised_ && placement_.tags_.lost_recursion(function_, label))
    return "the optimiser turned a recursion around it into a loop";
  if (!moved.call.empty())
    return fmt::format("the optimiser may have moved a call of {} to the other side of it", moved.call);
  return "";
}

// Does it name something that is computed from the variable? Then it is not to be believed.
bool Placement::Freezer::is_derived(const DbgVariableRecord& record, const LabelAt& at,
                                    const std::string& name) const {
  auto derived = placement_.derived_.find({at.scope, name});
  if (derived == placement_.derived_.end() || !record.getExpression()->getElements().empty()) return false;
  std::vector<const Value*> values;
  for (const Value* value : record.location_ops()) {
    values.push_back(value);
    if (auto* phi = dyn_cast<PHINode>(value)) values.insert(values.end(), phi->op_begin(), phi->op_end());
  }
  return any_of(values, [&](const Value* value) {
    auto* instruction = dyn_cast<Instruction>(value);
    const DILocation* place = instruction ? instruction->getDebugLoc().get() : nullptr;
    return place && place->getInlinedAt() == at.inlined_at &&
           place->getScope()->getSubprogram() == at.scope && derived->second.contains(place->getLine());
  });
}

Placement::Freezer::Pieces Placement::Freezer::pieces_of(const LabelAt& at, size_t position) const {
  size_t index = placement_.frozen_[at.instance].function;
  std::string snapshot = Snapshots::name(index, position);
  Pieces pieces;
  for (const auto& [piece, record] : at.state)
    if (piece.variable->getName() == snapshot && piece.variable->getScope() == at.scope &&
        piece.inlined_at == at.inlined_at)
      pieces.emplace_back(piece, record);
  return pieces;
}

const Value* Placement::Freezer::freeze_argument(const LabelAt& at, size_t position, Reach& memory) {
  Frozen& frozen = placement_.frozen_[at.instance];
  const extractor::Variable& variable = placement_.extraction_.functions[frozen.function].variables[position];
  if (variable.kind == extractor::Variable::Kind::kActivation) return nullptr;
  std::string name = variable_record_name(variable);
  bool is_in_memory = false;
  const Value* home = nullptr;
  for (DbgVariableRecord* record : declared_[name])
    if (record->getVariable()->getScope() == at.scope &&
        record->getDebugLoc().getInlinedAt() == at.inlined_at) {
      is_in_memory = true;
      home = record->getVariableLocationOp(0);
      if (is_plain(*record)) memory.own = home;
      if (Piece piece = piece_of(*record); is_part(*record))
        memory.parts.push_back({home, {piece.offset / 8, (piece.offset + piece.size) / 8}});
    }
  if (!placement_.optimised_) return home; // its own record serves
  Pieces pieces = pieces_of(at, position);
  uint64_t covered = 0;
  for (const auto& [piece, record] : pieces)
    covered += piece.size;
  std::erase_if(pieces, [&](const auto& entry) { return is_derived(*entry.second, at, name); });
  if (pieces.empty() && is_in_memory) return home; // its own record serves
  if (pieces.empty()) {
    frozen.known[position] = {unavailable(variable.size, "optimised out")};
    return home;
  }
  if (!is_in_memory && pieces.size() == 1 && is_plain(*pieces[0].second) &&
      pieces[0].second->getVariableLocationOp(0)->getType()->isPointerTy())
    memory.behind = pieces[0].second->getVariableLocationOp(0);
  DILocalVariable* snapshot =
      builder_.createAutoVariable(own_scope_, value_name(at.instance, position), own_scope_->getFile(), 1,
                                  pieces[0].first.variable->getType(), true);
  // An array of variable length has no size here: no constant is all of it.
  bool all_constant = variable.size != 0 && covered >= variable.size * 8;
  std::vector<descriptors::Part> constants;
  for (const auto& [piece, record] : pieces) {
    auto part = record->isKillLocation() ? std::nullopt : constant_part(*record, piece);
    if (!part) {
      all_constant = false;
      break;
    }
    constants.push_back(*part);
  }
  if (all_constant) {
    frozen.known[position] = constants;
    return home;
  }
  // Where it is in memory then, the compiler put it there for itself.
  frozen.is_value[position] = !is_in_memory && none_of(pieces, [](const auto& entry) {
    return is_contained(entry.second->getExpression()->getElements(), dwarf::DW_OP_deref);
  });
  if (!is_in_memory && !frozen.is_value[position]) home = pieces[0].second->getVariableLocationOp(0);
  for (const auto& [piece, record] : pieces) {
    DbgVariableRecord* copy = record->clone();
    copy->setVariable(snapshot);
    copy->setDebugLoc(here_);
    copy->insertBefore(at.record);
  }
  return home;
}

Placement::Frozen::Origin Placement::Freezer::origin_of(const Reach& pointer, const Value* home) {
  Frozen::Origin origin;
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
  return origin;
}

void Placement::Freezer::freeze(LabelAt& at, const WriteTags::Moved& moved) {
  size_t index = *parse_label(at.record->getLabel()->getName());
  const extractor::DebugFunction& debug = placement_.extraction_.functions[index];
  Frozen& frozen = placement_.frozen_.emplace_back();
  frozen.function = index;
  frozen.is_reached = reached_.contains(at.record->getInstruction()->getParent());
  frozen.known.resize(debug.variables.size());
  frozen.is_value.resize(debug.variables.size());
  frozen.scope = at.scope;
  frozen.inlined_at = at.inlined_at;
  frozen.lost = why_lost(*at.record, moved);
  frozen.stale = moved.stale;
  for (Target& target : unread_globals(debug))
    frozen.stale.push_back(std::move(target));
  std::vector<Reach>& memory = reach_[at.instance];
  memory.resize(debug.variables.size());
  for (size_t position = 0; position < debug.variables.size(); ++position) {
    memory[position].follow = &debug.variables[position];
    const Value* home = freeze_argument(at, position, memory[position]);
    frozen.origins.push_back(origin_of(memory[position], home));
  }
  for (const auto& [name, follow] : debug.globals_read)
    memory.push_back({function_.getParent()->getNamedGlobal(name), nullptr, &follow});
  for (Target& target : frozen.stale)
    queries_.spare(target, memory);
  // In the scope of the whole function: what belongs to an inlined one is kept only where that has code.
  frozen.block = at.record->getParent();
  frozen.label = builder_.createLabel(own_scope_, instance_name(at.instance), own_scope_->getFile(),
                                      at.record->getLabel()->getLine(), 0, false, std::nullopt, true);
  at.record->setLabel(frozen.label);
  frozen.at = placement_.optimised_ ? here_ : at.record->getDebugLoc().get();
  at.record->setDebugLoc(frozen.at);
}

void Placement::Freezer::run() {
  collect();
  if (!placement_.optimised_) number_code(function_);
  std::vector<DbgLabelRecord*> label_records;
  label_records.reserve(labels_.size());
  for (const LabelAt& at : labels_)
    label_records.push_back(at.record);
  WriteTags::MovedAt moved;
  if (placement_.optimised_) moved = placement_.tags_.find_moved(function_, label_records);
  placement_.frozen_in_[&function_] = {placement_.frozen_.size(), placement_.frozen_.size() + labels_.size()};
  for (LabelAt& at : labels_)
    freeze(at, moved[at.record]);
  if (placement_.optimised_)
    for (DbgVariableRecord* record : records_)
      if (!record->isDbgDeclare()) record->eraseFromParent();
  erase_marks(function_);
  if (!placement_.optimised_) return;
  placement_.prepared_[&function_].before(function_, ValueCheck::Phis::kNeedAll);
  placement_.order_.record(function_, [&](Target& target, size_t instance) {
    if (target.kind == Target::Kind::kGlobal) target.escapes = placement_.tags_.is_pointed_to(target.global);
    queries_.spare(target, reach_[instance]);
  });
}

void Placement::freeze(Function& function, DIBuilder& builder) {
  Freezer(*this, function, builder).run();
}

} // namespace rdb::codegen
