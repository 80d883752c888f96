// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/inlining.h"

#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"

#include <memory>
#include <utility>

namespace rdb::codegen {

using namespace llvm;

// Has a call of it no effect but its result, or what it writes to memory that it is given?
static bool may_be_left_out(const Function& function) {
  MemoryEffects elsewhere = function.getMemoryEffects().getWithoutLoc(IRMemLocation::ArgMem);
  return elsewhere.onlyReadsMemory() && function.willReturn() && function.doesNotThrow();
}

StringRef Inlining::name_of(const Function& function) {
  return GlobalValue::dropLLVMManglingEscape(function.getName());
}

// An inliner tells of each call that it replaces in a remark. While one runs they are listened to; everything
// else is as it was.
class Inlining::Remarks : public DiagnosticHandler {
public:
  Remarks(Inlining& inlining, std::unique_ptr<DiagnosticHandler> others)
      : inlining_(inlining), others_(std::move(others)) {}
  std::unique_ptr<DiagnosticHandler> take_others() {
    others_->HasErrors |= HasErrors;
    return std::move(others_);
  }

  bool handleDiagnostics(const DiagnosticInfo& info) override {
    if (const auto* remark = dyn_cast<OptimizationRemark>(&info)) {
      for (const auto& argument : remark->getArgs())
        if (argument.Key == "Callee") note(argument.Val, remark->getFunction());
      if (!others_->isPassedOptRemarkEnabled(remark->getPassName())) return true; // for nobody else
    }
    return others_->handleDiagnostics(info);
  }
  bool isAnalysisRemarkEnabled(StringRef pass) const override {
    return others_->isAnalysisRemarkEnabled(pass);
  }
  bool isMissedOptRemarkEnabled(StringRef pass) const override {
    return others_->isMissedOptRemarkEnabled(pass);
  }
  bool isPassedOptRemarkEnabled(StringRef) const override { return true; }
  bool isAnyRemarkEnabled() const override { return true; }

private:
  void note(const std::string& callee, const Function& caller) {
    inlining_.callers_[callee].insert(name_of(caller).str());
    if (const Function* function = caller.getParent()->getFunction(callee)) inlining_.note(*function);
  }

  Inlining& inlining_;
  std::unique_ptr<DiagnosticHandler> others_;
};

void Inlining::note(const Function& function) {
  if (may_be_left_out(function)) left_out_.insert(name_of(function).str());
}

void Inlining::note(const Module& module) {
  kept_.clear();
  for (const Function& function : module) {
    if (function.isDeclaration()) continue;
    note(function);
    kept_.insert(name_of(function).str());
  }
}

bool Inlining::may_lack_calls_of(StringRef function) const {
  std::string name = GlobalValue::dropLLVMManglingEscape(function).str();
  // Of one that is gone and was not put anywhere nothing is known.
  if (left_out_.contains(name) || (!kept_.contains(name) && !callers_.contains(name))) return true;
  // What the optimiser makes of a function for some calls is named after it, with a dot and more behind.
  auto made_of_it = left_out_.lower_bound(name + ".");
  return made_of_it != left_out_.end() && StringRef(*made_of_it).starts_with(name + ".");
}

void Inlining::attach(PassBuilder& builder) {
  PassInstrumentationCallbacks* callbacks = builder.getPassInstrumentationCallbacks();
  if (!callbacks) return;
  auto inlines = [](StringRef pass) {
    return pass == "InlinerPass" || pass == "AlwaysInlinerPass" || pass == "ModuleInlinerPass" ||
           pass == "PartialInlinerPass" || pass == "SampleProfileLoaderPass";
  };
  auto context = std::make_shared<LLVMContext*>(nullptr); // in which remarks are listened to
  auto stop = [=] {
    if (LLVMContext* listened = std::exchange(*context, nullptr)) {
      std::unique_ptr<DiagnosticHandler> remarks = listened->getDiagnosticHandler();
      listened->setDiagnosticHandler(static_cast<Remarks&>(*remarks).take_others());
    }
  };
  callbacks->registerBeforeNonSkippedPassCallback([=, this](StringRef pass, const Any& unit) {
    if (!inlines(pass)) return;
    if (const auto* module = any_cast<const Module*>(&unit)) *context = &(*module)->getContext();
    if (const auto* component = any_cast<const LazyCallGraph::SCC*>(&unit))
      *context = &(*component)->begin()->getFunction().getContext();
    if (!*context) return;
    (*context)->setDiagnosticHandler(std::make_unique<Remarks>(*this, (*context)->getDiagnosticHandler()));
  });
  callbacks->registerAfterPassCallback([=, this](StringRef, const Any& unit, const PreservedAnalyses&) {
    stop();
    if (const auto* module = any_cast<const Module*>(&unit)) note(**module);
    if (const auto* component = any_cast<const LazyCallGraph::SCC*>(&unit))
      for (LazyCallGraph::Node& node : const_cast<LazyCallGraph::SCC&>(**component))
        note(node.getFunction());
  });
  callbacks->registerAfterPassInvalidatedCallback([=](StringRef, const PreservedAnalyses&) { stop(); });
}

} // namespace rdb::codegen
