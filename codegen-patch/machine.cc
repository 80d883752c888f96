// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The last word: a pass over the finished machine code that turns each label into a symbol of the object and
// reads off where the arguments are there.
#include "codegen-patch/code_lines.h"
#include "codegen-patch/debug_names.h"
#include "codegen-patch/folded_addresses.h"
#include "codegen-patch/frame_setup.h"
#include "codegen-patch/label_records.h"
#include "codegen-patch/pieces.h"
#include "codegen-patch/placement.h"
#include "codegen-patch/records.h"
#include "codegen-patch/selected_bits.h"
#include "codegen-patch/spots.h"
#include "codegen-patch/values.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/MC/MCContext.h"
#include "llvm/PassRegistry.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"

#include <optional>
#include <set>

namespace rdb::codegen {

using namespace llvm;

// LLVM makes passes by itself from their identity, so the placement to report to cannot be handed over.
static Placement* current_placement = nullptr;

class MachinePlacement : public MachineFunctionPass {
public:
  static char ID;
  MachinePlacement() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "rdb placement"; }
  void getAnalysisUsage(AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(MachineFunction& function) override {
    if (current_placement) current_placement->on_machine_function(function);
    return true;
  }
};

char MachinePlacement::ID = 0;

// Behind passes of code generation that still work on the optimiser's code, and describe values anew.
class RecordCheck : public FunctionPass {
public:
  static char ID;
  RecordCheck() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "rdb record check"; }
  void getAnalysisUsage(AnalysisUsage& usage) const override { usage.setPreservesAll(); }
  bool runOnFunction(Function& function) override {
    if (current_placement) current_placement->on_prepared_function(function);
    return false;
  }
};

char RecordCheck::ID = 0;

// Behind the last of them, right before instruction selection.
class LastRecordCheck : public FunctionPass {
public:
  static char ID;
  LastRecordCheck() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "rdb last record check"; }
  void getAnalysisUsage(AnalysisUsage& usage) const override { usage.setPreservesAll(); }
  bool runOnFunction(Function& function) override {
    if (!current_placement) return false;
    current_placement->on_prepared_function(function);
    if (!current_placement->optimised_) return false;
    name_bases(function);
    drop_partly_selected(function);
    return false;
  }
};

char LastRecordCheck::ID = 0;

namespace {

// The labels at code that stands for that of several paths. The machine passes make identical ends of blocks
// one and keep the label of one of them; the code there, before the label or after it, has then lost its
// lines (which differ, see CodeOrder).
DenseSet<const MachineInstr*> labels_at_shared_code(const MachineFunction& function) {
  DenseSet<const MachineInstr*> found;
  auto look_through = [&](const auto& instructions) {
    bool is_at_shared = false;
    for (const MachineInstr& instruction : instructions)
      if (instruction.isDebugLabel()) {
        if (is_at_shared) found.insert(&instruction);
      } else if (const DILocation* at = instruction.getDebugLoc(); at && is_code(instruction)) {
        is_at_shared = at->getLine() == 0;
      }
  };
  for (const MachineBasicBlock& block : function) {
    look_through(block);
    look_through(reverse(block));
  }
  return found;
}

bool needs_frame(const descriptors::Part& part, const MachineFunction& function) {
  if (part.cls == descriptors::Class::activation) return true;
  if (part.cls != descriptors::Class::stack && part.cls != descriptors::Class::address) return false;
  const TargetRegisterInfo* registers = function.getSubtarget().getRegisterInfo();
  auto is_frame_register = [&](uint64_t number) {
    return number == static_cast<uint64_t>(
                         registers->getDwarfRegNum(registers->getFrameRegister(function), false)) ||
           number == 7 /* rsp */ || number == 3 /* rbx, of frames that need a third one */;
  };
  if (part.cls == descriptors::Class::stack) return is_frame_register(part.reg);
  return any_of(part.steps, [&](const descriptors::Step& step) {
    return step.op == descriptors::Op::push_register && is_frame_register(step.operand);
  });
}

using SlotRecord = MachineFunction::VariableDbgInfo;

// The ordinal of a variable's stack slot, and whether pointers to it exist.
std::optional<std::pair<unsigned, bool>> home_of(const std::vector<const SlotRecord*>& slots,
                                                 const DISubprogram* scope) {
  for (const SlotRecord* slot : slots)
    if (slot->Var->getScope() == scope && slot->Var->getLine() != 0)
      return std::pair(slot->Var->getLine(), slot->Var->isArtificial());
  return std::nullopt;
}

} // namespace

Placement::Placement(const extractor::Extraction& extraction, bool optimised, Records records,
                     const Inlining* expected)
    : extraction_(extraction), optimised_(optimised), records_(records), expected_(expected),
      seen_(extraction.functions.size()), snapshots_(extraction, tags_) {
  current_placement = this;
  callback_ = std::make_unique<RegisterTargetPassConfigCallback>(
      [](TargetMachine&, PassManagerBase&, TargetPassConfig* config) {
        static RegisterPass<MachinePlacement> registration("rdb-placement", "rdb placement");
        static RegisterPass<RecordCheck> record_check("rdb-record-check", "rdb record check");
        config->insertPass(&LiveDebugValuesID, &MachinePlacement::ID);
        static RegisterPass<LastRecordCheck> last_check("rdb-last-record-check", "rdb last record check");
        auto insert_behind = [&](StringRef name, const void* check) {
          if (const PassInfo* pass = PassRegistry::getPassRegistry()->getPassInfo(name))
            config->insertPass(pass->getTypeInfo(), check);
        };
        insert_behind("loop-reduce", &RecordCheck::ID);
        insert_behind("codegenprepare", &LastRecordCheck::ID);
      });
}

Placement::~Placement() {
  current_placement = nullptr;
}

// What is known of the code of a function while its labels are placed.
class Placement::MachineCode {
public:
  MachineCode(Placement& placement, const MachineFunction& function)
      : frame_(function), at_shared_code_(labels_at_shared_code(function)),
        records_(function, [&](const MachineInstr& label) { return names_at(placement, label); }) {
    for (const SlotRecord& slot : function.getInStackSlotVariableDbgInfo())
      slots_[slot.Var->getName()].push_back(&slot);
  }

  bool has_frame(const MachineInstr& label) const { return frame_.is_done_at(label); }
  bool is_shared(const MachineInstr& label) const { return at_shared_code_.contains(&label); }
  const auto& records_at(const MachineInstr& label) const { return records_.at(label); }
  // The stack slots of a variable, by the name of its record.
  const std::vector<const SlotRecord*>& slots_of(StringRef name) const {
    static const std::vector<const SlotRecord*> none;
    auto found = slots_.find(name);
    return found == slots_.end() ? none : found->second;
  }

private:
  static std::vector<std::string> names_at(const Placement& placement, const MachineInstr& label) {
    std::vector<std::string> names;
    auto id = parse_instance(label.getDebugLabel()->getName());
    if (!id) return names;
    const auto& variables = placement.extraction_.functions[placement.frozen_[*id].function].variables;
    for (size_t position = 0; position < variables.size(); ++position) {
      names.push_back(variable_record_name(variables[position]));
      names.push_back(value_name(*id, position));
    }
    return names;
  }

  FrameSetup frame_;
  DenseSet<const MachineInstr*> at_shared_code_;
  LabelRecords records_;
  std::map<StringRef, std::vector<const SlotRecord*>> slots_;
};

// Callers leave out writes to memory that this function is known not to read; a region would read it.
void Placement::drop_what_callers_leave_out(const MachineInstr& label, const Frozen& frozen,
                                            Instance& instance, std::vector<Target>& stale) const {
  const extractor::DebugFunction& debug = extraction_.functions[instance.function];
  const Function& code = label.getMF()->getFunction();
  MemoryEffects effects = code.getMemoryEffects();
  bool reads_other = isRefSet(effects.getModRef(IRMemLocation::Other));
  bool reads_parameters = isRefSet(effects.getModRef(IRMemLocation::ArgMem));
  bool reads_globals = reads_other;
  std::set<int> unread; // parameters
  for (const Argument& parameter : code.args()) {
    bool initialised = parameter.hasAttribute(Attribute::Initializes);
    reads_globals &= !initialised;
    if (!reads_parameters || initialised || parameter.hasAttribute(Attribute::WriteOnly) ||
        parameter.hasAttribute(Attribute::ReadNone))
      if (parameter.getType()->isPointerTy()) unread.insert(static_cast<int>(parameter.getArgNo()));
  }
  if (reads_other && unread.empty()) return;
  // Only calls of this very function, in this unit, know that of it.
  if (none_of(code.users(), [&](const User* user) {
        auto* call = dyn_cast<CallBase>(user);
        return call && call->getCalledFunction() == &code;
      }))
    return;
  if (!reads_globals)
    for (const auto& [global, follow] : debug.globals_read)
      stale.push_back(global_target(global));
  if (debug.reads_memory && !reads_globals) stale.push_back({});
  for (size_t i = 0; i < debug.variables.size(); ++i) {
    const extractor::Variable& variable = debug.variables[i];
    const Frozen::Origin& origin = frozen.origins[i];
    if (origin.home != Frozen::kNobody && unread.contains(origin.home))
      instance.arguments[i] = {
          unavailable(variable.size, "stale: this function is known not to read what it was given")};
    if (!variable.dereferenced) continue;
    bool from_read = origin.parameter != Frozen::kNobody && !unread.contains(origin.parameter);
    bool is_read = ((from_read || origin.is_local) && (reads_other || !variable.deeply)) ||
                   (origin.is_loaded && reads_globals);
    if (!is_read)
      instance.arguments[i] = {
          unavailable(variable.size, "stale: this function is known not to read what it leads to")};
  }
}

// Takes back what may be stale. False if the region reads memory in a way that no argument stands for.
bool Placement::apply_staleness(const MachineInstr& label, const MachineCode& code, const Frozen& frozen,
                                Instance& instance, std::vector<Target> stale) const {
  const extractor::DebugFunction& debug = extraction_.functions[instance.function];
  bool reads_memory = debug.reads_memory || !debug.globals_read.empty();
  for (size_t i = 0; i < debug.variables.size(); ++i) {
    reads_memory |= debug.variables[i].dereferenced;
    for (const descriptors::Part& part : instance.arguments[i])
      reads_memory |= !frozen.is_value[i] &&
                      (part.cls == descriptors::Class::stack || part.cls == descriptors::Class::address);
  }
  if (!reads_memory) return true;
  stale.insert(stale.end(), frozen.stale.begin(), frozen.stale.end());
  drop_what_callers_leave_out(label, frozen, instance, stale);
  if (stale.empty()) return true;
  auto is_outside = [](const Target& target) { // memory that pointers lead to
    return target.kind == Target::Kind::kUnknown || target.escapes;
  };
  // Functions of the program know its global variables by name.
  auto is_known = [&](const Target& target) {
    return target.kind == Target::Kind::kGlobal || is_outside(target);
  };
  if (debug.reads_memory && any_of(stale, is_known)) return false;
  size_t number = debug.variables.size();
  for (const auto& [global, follow] : debug.globals_read) {
    uint64_t bit = number < 64 ? 1ULL << number : 0;
    ++number;
    for (const Target& target : stale) {
      bool is_own = target.kind == Target::Kind::kUnknown ||
                    (target.kind == Target::Kind::kGlobal && target.global == global);
      if (is_own && (target.spares_own & bit) == 0) return false;
      if (follow.dereferenced && is_outside(target) && (target.spares_behind & bit) == 0) return false;
    }
  }
  const auto* scope = frozen.scope;
  for (size_t i = 0; i < debug.variables.size(); ++i) {
    const extractor::Variable& variable = debug.variables[i];
    uint64_t bit = i < 64 ? 1ULL << i : 0;
    auto trace = [&](const Target& target) {
      if (is_traced())
        fmt::print(stderr, "rdb: {} in {}: {} of '{}': kind {} slot {} global '{}'{}: {}\n",
                   label.getDebugLabel()->getName().str(), label.getMF()->getName().str(),
                   variable.deeply ? "deep reads" : "reads", variable.name, static_cast<int>(target.kind),
                   target.slot, target.global, target.pointer ? ", located" : "", target.note);
      return true;
    };
    bool bad = variable.dereferenced && any_of(stale, [&](const Target& target) {
                 return is_outside(target) && (target.spares_behind & bit) == 0 && trace(target);
               });
    const char* reason = "stale: a write to memory that it leads to is not in its place here";
    for (const descriptors::Part& part : instance.arguments[i]) {
      if (part.cls != descriptors::Class::stack && part.cls != descriptors::Class::address) continue;
      if (frozen.is_value[i]) continue;
      // Its own memory: which slot is it, and do pointers lead to it?
      auto home = home_of(code.slots_of(variable_record_name(variable)), scope);
      bool touched = any_of(stale, [&](const Target& target) {
        if (target.spares_own & bit) return false;
        bool mine = target.kind == Target::Kind::kVariable
                        ? !home || (target.scope == scope && target.slot == home->first &&
                                    target.inlined_at == frozen.inlined_at &&
                                    may_touch(target, {part.offset * 8, (part.offset + part.size) * 8}))
                        : !home || (home->second && target.kind == Target::Kind::kUnknown);
        return mine && trace(target);
      });
      if (touched) {
        bad = true;
        reason = "stale: a write to it is not in its place here";
      }
    }
    if (bad) instance.arguments[i] = {unavailable(variable.size, reason)};
  }
  return true;
}

void Placement::on_prepared_function(Function& function) {
  auto found = prepared_.find(&function);
  if (found == prepared_.end()) return;
  found->second.after(function);
  found->second.before(function, ValueCheck::Phis::kNeedAll);
}

static size_t instance_of(const MachineInstr& label) {
  return *parse_instance(label.getDebugLabel()->getName());
}

void Placement::put_labels_in_order(MachineFunction& function) {
  auto range = frozen_in_.find(&function.getFunction());
  if (range == frozen_in_.end()) return;
  std::map<size_t, MachineBasicBlock*> blocks;
  for (const LabelBesideCode& at : find_labels(function)) {
    blocks[instance_of(*at.label)] = at.label->getParent();
    at.label->eraseFromParent();
  }
  CodeLines lines(function);
  for (size_t id = range->second.first; id < range->second.second; ++id) {
    Frozen& frozen = frozen_[id];
    unsigned line = frozen.at->getLine();
    auto found = blocks.find(id);
    MachineBasicBlock* block = found != blocks.end() ? found->second
                               : frozen.block        ? lines.find_code(*cast<BasicBlock>(frozen.block), line)
                                                     : nullptr;
    if (!block) continue;
    auto at = lines.of(*block).find_place(line);
    if (!at) frozen.lost = "the code around it is not in the order of the source";
    MachineInstr* label = BuildMI(*block, at.value_or(block->end()), frozen.at,
                                  function.getSubtarget().getInstrInfo()->get(TargetOpcode::DBG_LABEL))
                              .addMetadata(frozen.label);
    lines.of(*block).add(*label, line);
  }
}

void Placement::on_machine_function(MachineFunction& function) {
  if (optimised_)
    order_.put_in_order(function);
  else
    put_labels_in_order(function);
  std::vector<LabelBesideCode> labels = find_labels(function);
  std::optional<MachineCode> code;
  std::vector<std::pair<MachineInstr*, std::vector<Spot>>> ahead;
  if (!labels.empty()) code.emplace(*this, function);
  for (const LabelBesideCode& at : labels) {
    Spot spot = find_spot(at);
    if (spot.instruction)
      place(*at.label, *code, {spot});
    else
      ahead.emplace_back(at.label, optimised_ ? std::vector<Spot>() : find_spots_ahead(*at.label));
  }
  // At one instruction regions run in the order of their instances: these come behind those of its own block.
  for (const auto& [label, spots] : ahead)
    place(*label, *code, spots);
  for (const LabelBesideCode& at : labels)
    at.label->eraseFromParent();
  if (auto range = frozen_in_.find(&function.getFunction()); range != frozen_in_.end())
    for (size_t i = range->second.first; i < range->second.second; ++i)
      if (!frozen_[i].placed && frozen_[i].is_reached)
        lost_.push_back({frozen_[i].function, "code generation left no place for it"});
}

void Placement::place(MachineInstr& label, const MachineCode& code, const std::vector<Spot>& spots) {
  MachineFunction& function = *label.getMF();
  size_t id = instance_of(label);
  Frozen& frozen = frozen_[id];
  frozen.placed = true;
  const extractor::DebugFunction& debug = extraction_.functions[frozen.function];
  if (spots.empty() && frozen.lost.empty())
    frozen.lost = "it shares its place with code that other paths reach";
  if (optimised_ && frozen.lost.empty() && code.is_shared(label))
    frozen.lost = "its code became one with that of another path";
  CodeOrder::Found order;
  if (optimised_ && frozen.lost.empty()) order = order_.look_at(label);
  if (order.is_displaced) frozen.lost = "the code around it is not in the order of the source";
  if (!frozen.lost.empty()) {
    lost_.push_back({frozen.function, frozen.lost});
    return;
  }
  Instance instance;
  instance.function = frozen.function;
  instance.code = function.getName().str();
  instance.arguments = frozen.known;
  const auto& records = code.records_at(label);
  bool frame = code.has_frame(label);
  const DILocation* inlined_at = frozen.inlined_at;
  const auto* scope = frozen.scope;
  for (size_t position = 0; position < debug.variables.size(); ++position) {
    const extractor::Variable& variable = debug.variables[position];
    std::vector<descriptors::Part>& parts = instance.arguments[position];
    if (!parts.empty()) continue;
    if (variable.kind == extractor::Variable::Kind::kActivation) {
      parts.push_back(part_of_frame(function));
      parts[0].size = variable.size;
    }
    std::string own_name = variable_record_name(variable);
    std::string value = value_name(id, position);
    if (parts.empty()) {
      for (const SlotRecord* slot : code.slots_of(own_name))
        if (slot->Var->getScope() == scope && slot->Loc->getInlinedAt() == inlined_at &&
            (parts.empty() || slot->Expr->isFragment()))
          parts.push_back(part_of_slot(function, slot->getStackSlot(), *slot->Expr, variable.size));
      bool is_in_slot = !parts.empty();
      for (const auto& [key, list] : records)
        if (key.first->getName() == value || (!is_in_slot && key.first->getName() == own_name &&
                                              key.first->getScope() == scope && key.second == inlined_at))
          for (const MachineInstr* record : list)
            parts.push_back(part_of_record(*record, variable.size));
    }
    for (descriptors::Part& part : parts)
      if (!frame && needs_frame(part, function)) {
        part.cls = descriptors::Class::unavailable;
        part.reason = "the stack frame is not set up here";
      }
    parts = put_together(std::move(parts), variable);
    if (is_traced() && parts[0].cls == descriptors::Class::unavailable)
      fmt::print(stderr, "rdb: {} in {}: '{}' ({}) is unavailable: {}\n", instance_name(id), instance.code,
                 variable.name, Snapshots::name(frozen.function, position), parts[0].reason);
  }
  if (optimised_ && !apply_staleness(label, code, frozen, instance, std::move(order.stale))) {
    lost_.push_back({frozen.function, "memory that it reads may be stale there"});
    return;
  }
  if (order.is_missed)
    lost_.push_back({frozen.function, "code generation left no place for it on some paths"});
  for (const Spot& spot : spots) {
    instance.side = spot.side;
    instance.label = fmt::format("__rdb_location_{}", instances_.size());
    BuildMI(*spot.instruction->getParent(), spot.instruction->getIterator(), DebugLoc(),
            function.getSubtarget().getInstrInfo()->get(TargetOpcode::ANNOTATION_LABEL))
        .addSym(function.getContext().getOrCreateSymbol(instance.label));
    instances_.push_back(instance);
  }
}

} // namespace rdb::codegen
