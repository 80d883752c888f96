// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Before optimisation: the compile's own debug information goes (it is not written from here) and placement's
// comes in: a subprogram and lines for every function, a label per region, a record per variable.
#include "codegen-patch/debug_names.h"
#include "codegen-patch/placement.h"
#include "codegen-patch/records.h"
#include "llvm-passes/extractor/declarations.h"
#include "llvm-passes/extractor/markers.h"

#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

#include <set>

namespace rdb::codegen {

namespace {

using namespace llvm;
using extractor::DebugFunction;
using extractor::Variable;

// Which debug function belongs to the marker of a region in this host? By the host's name; hosts whose name
// the regions changed (lambdas are numbered through) by their order.
class Hosts {
public:
  Hosts(const extractor::Extraction& extraction, Module& module) {
    std::map<unsigned, std::vector<size_t>> functions;
    for (size_t i = 0; i < extraction.functions.size(); ++i)
      functions[extraction.functions[i].region].push_back(i);
    std::map<unsigned, std::vector<CallInst*>> marks;
    for (Function& function : module)
      for (const extractor::Marker& marker : extractor::find_markers(function))
        if (marker.what == "mark") marks[marker.region].push_back(marker.call);
    for (auto& [region, calls] : marks) {
      std::vector<size_t>& candidates = functions[region];
      std::vector<CallInst*> rest;
      std::set<size_t> taken;
      for (CallInst* call : calls) {
        bool found = false;
        for (size_t candidate : candidates)
          if (extraction.functions[candidate].host == call->getFunction()->getName() &&
              taken.insert(candidate).second) {
            function_of_[call] = candidate;
            found = true;
            break;
          }
        if (!found) rest.push_back(call);
      }
      std::erase_if(candidates, [&](size_t candidate) { return taken.contains(candidate); });
      if (rest.size() == candidates.size())
        for (size_t i = 0; i < rest.size(); ++i)
          function_of_[rest[i]] = candidates[i];
    }
  }
  std::optional<size_t> find(CallInst* mark) const {
    auto found = function_of_.find(mark);
    return found == function_of_.end() ? std::nullopt : std::optional(found->second);
  }

private:
  std::map<CallInst*, size_t> function_of_;
};

// The addresses of a host's variables, by key.
std::map<std::pair<std::string, unsigned>, Value*> variable_addresses(Function& host) {
  std::map<std::pair<std::string, unsigned>, Value*> result;
  std::map<std::string, unsigned> seen;
  for (const extractor::AnnotatedVariable& variable : extractor::find_variables(host)) {
    std::string key = extractor::parse_variable_note(variable.note).key;
    unsigned ordinal = seen[key]++;
    result[{key, ordinal}] = variable.address;
  }
  for (Instruction& instruction : host.getEntryBlock())
    if (isa<AllocaInst>(instruction) && instruction.getName() == "this.addr")
      result[{"this", 0}] = &instruction;
  for (AllocaInst* slot : extractor::find_unreached_variables(host)) {
    std::string key = "|" + slot->getName().str();
    unsigned ordinal = seen[key]++;
    result[{key, ordinal}] = slot;
  }
  return result;
}

// The stack slot in which a host without optimisation keeps a pointer parameter.
AllocaInst* slot_of_parameter(Argument& parameter) {
  for (User* user : parameter.users())
    if (auto* store = dyn_cast<StoreInst>(user); store && store->getValueOperand() == &parameter)
      if (auto* slot = dyn_cast<AllocaInst>(store->getPointerOperand())) return slot;
  return nullptr;
}

class Recorder {
public:
  Recorder(Module& module, bool optimised) : module_(module), builder_(module), optimised_(optimised) {
    StripDebugInfo(module);
    if (!module.getModuleFlag("Debug Info Version"))
      module.addModuleFlag(Module::Warning, "Debug Info Version", DEBUG_METADATA_VERSION);
    if (optimised)
      module.setModuleFlag(
          Module::Max, kAssignmentsFlag,
          ConstantAsMetadata::get(ConstantInt::get(Type::getInt1Ty(module.getContext()), 1)));
    file_ = builder_.createFile("rdb", "/");
    builder_.createCompileUnit(DISourceLanguageName(dwarf::DW_LANG_C11), file_, "rdb", true, "", 0);
    type_ = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  }

  void add_functions(WriteTags& tags) {
    for (Function& function : module_) {
      if (function.isDeclaration()) continue;
      DISubprogram* subprogram = builder_.createFunction(
          file_, function.getName(), function.getName(), file_, 1, type_, 1, DINode::FlagZero,
          DISubprogram::SPFlagDefinition |
              (optimised_ ? DISubprogram::SPFlagOptimized : DISubprogram::SPFlagZero));
      function.setSubprogram(subprogram);
      tags.record(function, *subprogram, builder_,
                  optimised_ ? WriteTags::Marks::kWrites : WriteTags::Marks::kNone);
    }
  }

  void add_label(CallInst& mark, size_t function) {
    DISubprogram* subprogram = mark.getFunction()->getSubprogram();
    DILabel* label =
        builder_.createLabel(subprogram, label_name(function), file_, mark.getDebugLoc().getLine(), 0, false,
                             std::nullopt, /*AlwaysPreserve=*/true);
    auto* record = new DbgLabelRecord(label, mark.getDebugLoc());
    // Ahead of the mark of a write that is the very next instruction.
    BasicBlock::iterator after = std::next(mark.getIterator());
    after.setHeadBit(true);
    mark.getParent()->insertDbgRecordBefore(record, after);
  }

  // One record per variable and function, shared by the regions that use it.
  DILocalVariable* add_variable(Function& host, Value& address, const Variable& variable) {
    if (!declared_.insert(&address).second) return nullptr;
    DISubprogram* subprogram = host.getSubprogram();
    DIType* type =
        builder_.createBasicType("bytes", std::max<uint64_t>(variable.size, 1) * 8, dwarf::DW_ATE_unsigned);
    // The line of the variable is the ordinal of its stack slot, by which writes to it are known; an
    // artificial one is one to which pointers exist.
    auto* home = dyn_cast<Instruction>(&address);
    unsigned slot_ordinal = home ? home->getDebugLoc().getLine() : 0;
    DILocalVariable* local = builder_.createAutoVariable(
        subprogram, variable_record_name(variable), file_, slot_ordinal, type, /*AlwaysPreserve=*/true,
        slot_escapes(address) ? DINode::FlagArtificial : DINode::FlagZero);
    DILocation* at = DILocation::get(module_.getContext(), 1, 0, subprogram);
    BasicBlock& entry = host.getEntryBlock();
    DIExpression* plain = builder_.createExpression();
    DIExpression* behind = builder_.createExpression({dwarf::DW_OP_deref});
    auto* parameter = dyn_cast<Argument>(&address);
    if (parameter && !parameter->hasByValAttr()) {
      AllocaInst* slot = slot_of_parameter(*parameter);
      if (slot && !optimised_)
        insert_in_entry(entry, DbgVariableRecord::createDVRDeclare(slot, local, behind, at));
      else
        insert_in_entry(entry, DbgVariableRecord::createDbgVariableRecord(parameter, local, behind, at));
      return local;
    }
    auto* slot = dyn_cast<AllocaInst>(&address);
    if (slot && !slot->isStaticAlloca()) {
      // A variable-length array: its address is a value like any other.
      auto* record = DbgVariableRecord::createDbgVariableRecord(slot, local, behind, at);
      slot->getParent()->insertDbgRecordAfter(record, slot);
      return local;
    }
    insert_in_entry(entry, DbgVariableRecord::createDVRDeclare(&address, local, plain, at));
    return local;
  }

  void finish() { builder_.finalize(); }

private:
  static void insert_in_entry(BasicBlock& entry, DbgVariableRecord* record) {
    entry.insertDbgRecordBefore(record, entry.getFirstNonPHIOrDbgOrAlloca());
  }

  Module& module_;
  DIBuilder builder_;
  bool optimised_;
  DIFile* file_ = nullptr;
  DISubroutineType* type_ = nullptr;
  std::set<Value*> declared_;
};

class StartPass : public PassInfoMixin<StartPass> {
public:
  explicit StartPass(std::function<void(Module&)> work) : work_(std::move(work)) {}
  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    work_(module);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

private:
  std::function<void(Module&)> work_;
};

} // namespace

std::string variable_record_name(const Variable& variable) {
  return fmt::format("rdb.var.{}.{}", variable.key, variable.ordinal);
}

// Ordinals of the instructions that use the variable's value and whose result is not itself stored to it.
static std::set<unsigned> derived_from(Value& address) {
  std::set<unsigned> result;
  std::set<unsigned> stored;
  for (User* user : address.users()) {
    if (auto* load = dyn_cast<LoadInst>(user))
      for (User* next : load->users())
        if (auto* instruction = dyn_cast<Instruction>(next))
          result.insert(instruction->getDebugLoc().getLine());
    if (auto* store = dyn_cast<StoreInst>(user))
      if (auto* value = dyn_cast<Instruction>(store->getValueOperand()))
        stored.insert(value->getDebugLoc().getLine());
  }
  for (unsigned ordinal : stored)
    result.erase(ordinal);
  return result;
}

void Placement::before_optimisation(Module& module) {
  Hosts hosts(extraction_, module);
  Recorder recorder(module, optimised_);
  tags_.record_globals(module);
  recorder.add_functions(tags_);
  std::map<const Function*, std::set<size_t>> regions;
  for (Function& function : module) {
    std::vector<extractor::Marker> markers = extractor::find_markers(function);
    if (markers.empty()) continue;
    auto addresses = variable_addresses(function);
    for (const extractor::Marker& marker : markers) {
      std::optional<size_t> index = hosts.find(marker.call);
      if (!index) continue;
      const DebugFunction& debug = extraction_.functions[*index];
      if (!debug.refused.empty()) continue;
      seen_[*index] = true;
      regions[&function].insert(*index);
      recorder.add_label(*marker.call, *index);
      if (records_ == Records::kNone) continue;
      for (size_t position = 0; position < debug.variables.size(); ++position) {
        const Variable& variable = debug.variables[position];
        auto found = addresses.find({variable.key, variable.ordinal});
        if (found == addresses.end()) continue;
        if (recorder.add_variable(function, *found->second, variable))
          derived_[{function.getSubprogram(), variable_record_name(variable)}] = derived_from(*found->second);
      }
    }
  }
  if (optimised_) calls_.record(module, regions);
  extractor::erase_annotations(module);
  recorder.finish();
}

namespace {

// The function that a pass runs over, or over a loop of it.
const Function* function_of(const Any& unit) {
  if (const auto* function = any_cast<const Function*>(&unit)) return *function;
  if (const auto* loop = any_cast<const Loop*>(&unit)) return (*loop)->getHeader()->getParent();
  return nullptr;
}

// One that has gone astray tells of a miss as long as it is there.
bool is_label_of_region(const DbgRecord& record) {
  const auto* label = dyn_cast<DbgLabelRecord>(&record);
  return label && region_of_label(label->getLabel()->getName());
}

// Does it run others, or none?
bool is_made_of_passes(StringRef pass) {
  return isSpecialPass(pass, {"PassManager", "Adaptor", "RequireAnalysisPass", "InvalidateAnalysisPass"});
}

enum class Watch { kNothing, kMarks, kLabelsAndMarks };

// What can be missed when a pass works on a loop? There are many loops, and in most of them nothing can:
// marks that stand ahead of their write go with it.
Watch watch_of_loop(StringRef pass, const Loop& loop) {
  auto has = [](const BasicBlock& block, auto&& is_wanted) {
    return any_of(block, [&](const Instruction& instruction) {
      return any_of(instruction.getDbgRecordRange(), is_wanted);
    });
  };
  auto has_label = [&](const BasicBlock* block) { return has(*block, is_label_of_region); };
  auto has_mark = [&](const BasicBlock* block) { return has(*block, LostMarks::is_mark); };
  if (pass == "LoopRotatePass") // of the head it makes a copy
    return has_label(loop.getHeader())  ? Watch::kLabelsAndMarks
           : has_mark(loop.getHeader()) ? Watch::kMarks
                                        : Watch::kNothing;
  auto has_only_marks = [&](const BasicBlock* block) {
    return has_mark(block) && none_of(*block, [](const Instruction& one) { return has_effect(one); });
  };
  return any_of(loop.blocks(), has_label) || any_of(loop.blocks(), has_only_marks) ? Watch::kLabelsAndMarks
                                                                                   : Watch::kNothing;
}

// For those who work on placement: which pass lost a label, or the value of an argument. The environment asks
// for it.
class LabelTrace {
public:
  void after(StringRef pass, const Any& unit) {
    if (const Function* function = function_of(unit)) compare(pass, *function);
  }

private:
  void compare(StringRef pass, const Function& function) {
    std::map<std::string, unsigned> now;
    for (const Instruction& instruction : instructions(function))
      for (const DbgRecord& record : instruction.getDbgRecordRange())
        if (auto* label = dyn_cast<DbgLabelRecord>(&record)) {
          if (parse_label(label->getLabel()->getName())) ++now[label->getLabel()->getName().str()];
        } else if (auto& variable = cast<DbgVariableRecord>(record);
                   !variable.isKillLocation() &&
                   variable.getVariable()->getName().starts_with(kSnapshotName)) {
          ++now[variable.getVariable()->getName().str()];
        }
    auto& before = labels_[&function];
    for (const auto& [name, count] : before)
      if (now[name] != count)
        fmt::print(stderr, "rdb: {} makes {} of {} copies of {} in {}\n", pass.str(), now[name], count, name,
                   function.getName().str());
    before = std::move(now);
  }

  std::map<const Function*, std::map<std::string, unsigned>> labels_;
};

} // namespace

void Placement::before_dropping(Function& function, DroppedRecords::Code code) {
  if (code == DroppedRecords::Code::kStays)
    lost_marks_.before(function, code_version_);
  else
    before_leaving(function);
  labels_.before(function, is_label_of_region, code, DroppedRecords::Turns::kCount, code_version_);
}

void Placement::after_dropping(StringRef pass, Function& function, DroppedRecords::Code code) {
  if (code == DroppedRecords::Code::kIsReplaced)
    after_leaving(pass, function);
  else if (lost_marks_.after(pass, function))
    ++code_version_;
  for (const auto& [label, gaps] : labels_.after(function)) {
    StringRef name = cast<DILabel>(std::get<1>(label))->getName();
    dropped_.insert(*region_of_label(name));
    if (is_traced())
      fmt::print(stderr, "rdb: {} dropped a copy of {} in {}\n", pass.str(), name.str(),
                 function.getName().str());
  }
}

void Placement::after_leaving(StringRef pass, Function& function) {
  if (left_marks_.after(pass, function)) ++code_version_;
}

void Placement::attach(PassBuilder& builder) {
  if (auto* callbacks = builder.getPassInstrumentationCallbacks(); callbacks && optimised_) {
    auto may_remove = [](StringRef pass) {
      return pass == "SROAPass" || pass == "PromotePass" || pass == "DSEPass" || pass == "InstCombinePass";
    };
    auto joins = [](StringRef pass) {
      return pass == "SimplifyCFGPass" || pass == "LoopSimplifyPass" || pass == "LoopRotatePass";
    };
    auto simplifies = [](StringRef pass) {
      return pass == "InstCombinePass" || pass == "AggressiveInstCombinePass" || pass == "BDCEPass" ||
             pass == "CorrelatedValuePropagationPass";
    };
    auto unrolls = [](StringRef pass) { return pass == "LoopFullUnrollPass" || pass == "LoopUnrollPass"; };
    auto cleans_up = [](StringRef pass) { return pass == "SROAPass" || pass == "PromotePass"; };
    // Others remove blocks only if they are never run.
    auto may_drop = [](StringRef pass) {
      return pass == "SimplifyCFGPass" || pass == "JumpThreadingPass" || pass == "DFAJumpThreadingPass" ||
             pass == "ADCEPass" || pass == "LoopSimplifyPass" || pass == "LoopDeletionPass" ||
             pass == "SimpleLoopUnswitchPass" || pass == "TailCallElimPass" ||
             pass == "CallSiteSplittingPass" || pass == "MergeICmpsPass";
    };
    // Of these one looks after records itself.
    auto may_bypass = [=](StringRef pass) { return may_drop(pass) && pass != "JumpThreadingPass"; };
    // These copy code without the records in it.
    auto copies = [](StringRef pass) { return pass == "LoopVectorizePass" || pass == "LoopRotatePass"; };
    // A loop may be gone afterwards: then only the name of the pass is told.
    auto running = std::make_shared<const Function*>(nullptr);
    auto watch = std::make_shared<Watch>(Watch::kNothing);
    auto code_after = [=](StringRef pass) {
      return copies(pass) ? DroppedRecords::Code::kIsReplaced : DroppedRecords::Code::kStays;
    };
    auto compare = [=, this](StringRef pass) {
      if (*watch == Watch::kLabelsAndMarks) inverted_.after(pass, const_cast<Function&>(**running));
      if (*watch == Watch::kLabelsAndMarks && may_bypass(pass))
        bypassed_.after(pass, const_cast<Function&>(**running));
      if (*watch == Watch::kLabelsAndMarks)
        after_dropping(pass, const_cast<Function&>(**running), code_after(pass));
      else if (*watch == Watch::kMarks)
        after_leaving(pass, const_cast<Function&>(**running));
      *watch = Watch::kNothing;
    };
    callbacks->registerBeforeNonSkippedPassCallback([=, this](StringRef pass, const Any& unit) {
      const auto* function = any_cast<const Function*>(&unit);
      *running = function_of(unit);
      const auto* loop = any_cast<const Loop*>(&unit);
      *watch = Watch::kNothing;
      if (*running && (may_drop(pass) || copies(pass)))
        *watch = loop ? watch_of_loop(pass, **loop) : Watch::kLabelsAndMarks;
      else if (function && !cleans_up(pass) && !is_made_of_passes(pass))
        *watch = Watch::kMarks;
      if (*watch == Watch::kLabelsAndMarks)
        before_dropping(const_cast<Function&>(**running), code_after(pass));
      else if (*watch == Watch::kMarks)
        before_leaving(const_cast<Function&>(**running));
      // Without a label nobody asks for values.
      if (*watch == Watch::kLabelsAndMarks && labels_.has_records()) {
        inverted_.before(const_cast<Function&>(**running));
        if (may_bypass(pass)) bypassed_.before(const_cast<Function&>(**running));
      }
      if (function && pass == "ADCEPass") scopes_.before(const_cast<Function&>(**function));
      if (const Function* around = function_of(unit); around && joins(pass)) astray_.before(*around);
      if (function && joins(pass)) arms_.before(**function);
      if (const Function* around = function_of(unit); around && unrolls(pass)) {
        unrolled_ = const_cast<Function*>(around);
        loop_exits_.before(*unrolled_);
      }
      if (function && simplifies(pass))
        value_check_.before(**function,
                            pass == "BDCEPass" ? ValueCheck::Phis::kNeedParts : ValueCheck::Phis::kNeedAll);
      if (!function || !may_remove(pass)) return;
      if (pass == "InstCombinePass") declared_slots_.before(const_cast<Function&>(**function));
      tags_.before_removal(**function);
      if (cleans_up(pass) && records_ == Records::kVariables)
        snapshots_.before(const_cast<Function&>(**function));
    });
    callbacks->registerAfterPassCallback(
        [=, this](StringRef pass, const Any& unit, const PreservedAnalyses& preserved) {
          if (!preserved.areAllPreserved()) ++code_version_;
          const auto* constant = any_cast<const Function*>(&unit);
          if (constant && pass == "ADCEPass") scopes_.after(const_cast<Function&>(**constant));
          compare(pass);
          if (const Function* around = function_of(unit); around && joins(pass))
            astray_.after(const_cast<Function&>(*around));
          if (constant && joins(pass)) arms_.after(const_cast<Function&>(**constant));
          if (unrolls(pass)) loop_exits_.after(*unrolled_);
          if (constant && pass == "LoopVectorizePass")
            tags_.mark_vectorised(const_cast<Function&>(**constant));
          if (constant && simplifies(pass)) value_check_.after(const_cast<Function&>(**constant));
          if (!constant || !may_remove(pass)) return;
          auto& function = const_cast<Function&>(**constant);
          if (pass == "InstCombinePass") declared_slots_.after(function);
          if (records_ == Records::kVariables) snapshots_.after(function);
          tags_.after_removal(function, pass == "SROAPass");
        });
    callbacks->registerAfterPassInvalidatedCallback([=, this](StringRef pass, const PreservedAnalyses&) {
      ++code_version_;
      compare(pass);
    });
  }
  if (auto* callbacks = builder.getPassInstrumentationCallbacks(); callbacks && optimised_) {
    callbacks->registerBeforeNonSkippedPassCallback([this](StringRef pass, const Any& unit) {
      const auto* component = any_cast<const LazyCallGraph::SCC*>(&unit);
      if (!component || pass != "InlinerPass") return;
      std::vector<Function*> callers;
      for (LazyCallGraph::Node& node : const_cast<LazyCallGraph::SCC&>(**component))
        callers.push_back(&node.getFunction());
      returned_.before(callers);
    });
    callbacks->registerAfterPassCallback([this](StringRef pass, const Any&, const PreservedAnalyses&) {
      if (pass == "InlinerPass") returned_.after();
    });
    callbacks->registerAfterPassInvalidatedCallback([this](StringRef pass, const PreservedAnalyses&) {
      if (pass == "InlinerPass") returned_.after();
    });
  }
  // Of a loop that is gone nothing is told but the pass.
  if (auto* callbacks = builder.getPassInstrumentationCallbacks(); callbacks && optimised_)
    callbacks->registerAfterPassInvalidatedCallback([this](StringRef pass, const PreservedAnalyses&) {
      if (pass == "LoopFullUnrollPass") loop_exits_.after(*unrolled_);
    });
  if (auto* callbacks = builder.getPassInstrumentationCallbacks(); callbacks && is_traced()) {
    auto trace = std::make_shared<LabelTrace>();
    callbacks->registerAfterPassCallback(
        [trace](StringRef pass, const Any& unit, const PreservedAnalyses&) { trace->after(pass, unit); });
  }
  builder.registerPipelineStartEPCallback([this](ModulePassManager& passes, OptimizationLevel) {
    passes.addPass(StartPass([this](Module& module) { before_optimisation(module); }));
  });
  builder.registerOptimizerEarlyEPCallback(
      [](ModulePassManager& passes, OptimizationLevel, ThinOrFullLTOPhase) {
        passes.addPass(StartPass([](Module& module) { after_inlining(module); }));
      });
  builder.registerOptimizerLastEPCallback(
      [this](ModulePassManager& passes, OptimizationLevel, ThinOrFullLTOPhase) {
        passes.addPass(StartPass([this](Module& module) { after_optimisation(module); }));
      });
}

} // namespace rdb::codegen
