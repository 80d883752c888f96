// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// During optimisation: around passes that would lose labels, marks or values without a word, these are looked
// after.
#include "codegen-patch/debug_names.h"
#include "codegen-patch/label_trace.h"
#include "codegen-patch/pass_traits.h"
#include "codegen-patch/placement.h"
#include "codegen-patch/records.h"

#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/Passes/PassBuilder.h"

#include <utility>

namespace rdb::codegen {

using namespace llvm;

namespace {

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

// The function that a pass runs over, or over a loop of it.
const Function* function_of(const Any& unit) {
  if (const auto* function = any_cast<const Function*>(&unit)) return *function;
  if (const auto* loop = any_cast<const Loop*>(&unit)) return (*loop)->getHeader()->getParent();
  return nullptr;
}

// One that has gone astray tells of a miss as long as it is there.
bool is_label_of_region(const DbgRecord& record) {
  return region_of_label(name_of(record)).has_value();
}

} // namespace

// There are many loops, and in most of them nothing can be missed: marks that stand ahead of their write go
// with it.
Placement::Watch Placement::watch_of_loop(const PassTraits& traits, const Loop& loop) {
  auto has = [](const BasicBlock& block, auto&& is_wanted) {
    return any_of(block, [&](const Instruction& instruction) {
      return any_of(instruction.getDbgRecordRange(), is_wanted);
    });
  };
  auto has_label = [&](const BasicBlock* block) { return has(*block, is_label_of_region); };
  auto has_mark = [&](const BasicBlock* block) { return has(*block, LostMarks::is_mark); };
  if (traits.copies_code) // of the head
    return has_label(loop.getHeader())  ? Watch::kLabelsAndMarks
           : has_mark(loop.getHeader()) ? Watch::kMarks
                                        : Watch::kNothing;
  auto has_only_marks = [&](const BasicBlock* block) {
    return has_mark(block) && none_of(*block, [](const Instruction& one) { return has_effect(one); });
  };
  return any_of(loop.blocks(), has_label) || any_of(loop.blocks(), has_only_marks) ? Watch::kLabelsAndMarks
                                                                                   : Watch::kNothing;
}

void Placement::before_dropping(const PassTraits& traits) {
  using Code = DroppedRecords::Code;
  if (watch_ == Watch::kNothing) return;
  bool stays = watch_ == Watch::kLabelsAndMarks && !traits.copies_code;
  (stays ? lost_marks_ : left_marks_).before(*running_, code_version_);
  if (watch_ == Watch::kMarks) return;
  labels_.before(*running_, is_label_of_region, stays ? Code::kStays : Code::kIsReplaced,
                 DroppedRecords::Turns::kCount, code_version_);
  if (!labels_.has_records()) return; // nobody asks for values
  inverted_.before(*running_);
  if (traits.bypasses_blocks) bypassed_.before(*running_);
}

void Placement::after_dropping(StringRef pass, const PassTraits& traits) {
  Watch watch = std::exchange(watch_, Watch::kNothing);
  if (watch == Watch::kNothing) return;
  if (watch == Watch::kLabelsAndMarks) inverted_.after(pass, *running_);
  if (watch == Watch::kLabelsAndMarks && traits.bypasses_blocks) bypassed_.after(pass, *running_);
  bool stays = watch == Watch::kLabelsAndMarks && !traits.copies_code;
  if ((stays ? lost_marks_ : left_marks_).after(pass, *running_)) ++code_version_;
  if (watch == Watch::kMarks) return;
  for (const auto& [label, gaps] : labels_.after(*running_)) {
    StringRef name = cast<DILabel>(std::get<1>(label))->getName();
    dropped_.insert(*region_of_label(name));
    if (is_traced())
      fmt::print(stderr, "rdb: {} dropped a copy of {} in {}\n", pass.str(), name.str(),
                 running_->getName().str());
  }
}

void Placement::before_pass(StringRef pass, const Any& unit) {
  const Function* function = function_of(unit);
  running_ = function && code_ && code_->has(*function) ? const_cast<Function*>(function) : nullptr;
  if (!running_) return;
  PassTraits traits = traits_of(pass);
  const auto* loop = any_cast<const Loop*>(&unit);
  watch_ = Watch::kNothing;
  if (traits.drops_blocks || traits.copies_code)
    watch_ = loop ? watch_of_loop(traits, **loop) : Watch::kLabelsAndMarks;
  else if (!loop && !traits.cleans_up && !traits.runs_others)
    watch_ = Watch::kMarks;
  before_dropping(traits);
  if (pass == "ADCEPass") scopes_.before(*running_);
  if (traits.joins_blocks) astray_.before(*running_);
  if (traits.joins_arms) arms_.before(*running_);
  if (traits.unrolls) loop_exits_.before(*running_);
  if (traits.simplifies)
    value_check_.before(*running_,
                        pass == "BDCEPass" ? ValueCheck::Phis::kNeedParts : ValueCheck::Phis::kNeedAll);
  if (!traits.removes_variables) return;
  if (pass == "InstCombinePass") declared_slots_.before(*running_);
  tags_.before_removal(*running_);
  if (traits.cleans_up && records_ == Records::kVariables) snapshots_.before(*running_);
}

void Placement::after_pass(StringRef pass, bool has_changed) {
  if (has_changed) ++code_version_;
  if (!running_) return;
  PassTraits traits = traits_of(pass);
  if (pass == "ADCEPass") scopes_.after(*running_);
  after_dropping(pass, traits);
  if (traits.joins_blocks) astray_.after(*running_);
  if (traits.joins_arms) arms_.after(*running_);
  if (traits.unrolls) loop_exits_.after(*running_);
  if (pass == "LoopVectorizePass") tags_.mark_vectorised(*running_);
  if (traits.simplifies) value_check_.after(*running_);
  if (traits.removes_variables) {
    if (pass == "InstCombinePass") declared_slots_.after(*running_);
    if (records_ == Records::kVariables) snapshots_.after(*running_);
    tags_.after_removal(*running_, pass == "SROAPass");
  }
  running_ = nullptr;
}

void Placement::attach(PassBuilder& builder) {
  inlining_.attach(builder);
  if (auto* callbacks = builder.getPassInstrumentationCallbacks(); callbacks && optimised_) {
    callbacks->registerBeforeNonSkippedPassCallback([this](StringRef pass, const Any& unit) {
      before_pass(pass, unit);
      const auto* component = any_cast<const LazyCallGraph::SCC*>(&unit);
      if (!component || pass != "InlinerPass") return;
      std::vector<Function*> callers;
      for (LazyCallGraph::Node& node : const_cast<LazyCallGraph::SCC&>(**component))
        callers.push_back(&node.getFunction());
      returned_.before(callers);
    });
    callbacks->registerAfterPassCallback(
        [this](StringRef pass, const Any&, const PreservedAnalyses& preserved) {
          after_pass(pass, !preserved.areAllPreserved());
          if (pass == "InlinerPass") returned_.after();
        });
    // Of a loop or a component that is gone nothing is told but the pass.
    callbacks->registerAfterPassInvalidatedCallback([this](StringRef pass, const PreservedAnalyses&) {
      after_pass(pass, true);
      if (pass == "InlinerPass") returned_.after();
    });
  }
  if (auto* callbacks = builder.getPassInstrumentationCallbacks(); callbacks && is_traced())
    callbacks->registerAfterPassCallback(
        [trace = std::make_shared<LabelTrace>()](StringRef pass, const Any& unit, const PreservedAnalyses&) {
          if (const Function* function = function_of(unit)) trace->after(pass, *function);
        });
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
