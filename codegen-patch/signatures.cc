// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/signatures.h"

#include "codegen-patch/inlining.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"

namespace rdb::codegen {

using namespace llvm;

namespace {

// Looks, and leaves everything as it is.
class Look : public PassInfoMixin<Look> {
public:
  explicit Look(std::function<void(const Module&)> look) : look_(std::move(look)) {}
  PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
    look_(module);
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }

private:
  std::function<void(const Module&)> look_;
};

std::string text_of(const Type& type) {
  std::string text;
  raw_string_ostream(text) << type;
  return text;
}

// Does a function that has a result return none, on all of its ways?
bool returns_nothing(const Function& function) {
  if (function.getReturnType()->isVoidTy()) return false;
  bool any = false;
  for (const BasicBlock& block : function)
    if (const auto* end = dyn_cast<ReturnInst>(block.getTerminator())) {
      if (!isa<UndefValue>(end->getReturnValue())) return false;
      any = true;
    }
  return any;
}

} // namespace

Signatures::Signature Signatures::signature_of(const Function& function) {
  Signature signature{text_of(*function.getReturnType()), {}};
  for (const Argument& argument : function.args()) {
    std::string text = text_of(*argument.getType());
    // Where the argument is, beyond its type.
    if (argument.hasByValAttr()) text += " byval " + text_of(*argument.getParamByValType());
    if (argument.hasStructRetAttr()) text += " sret";
    if (argument.hasNestAttr()) text += " nest";
    signature.arguments.push_back(std::move(text));
  }
  if (function.isVarArg()) signature.arguments.emplace_back("...");
  return signature;
}

void Signatures::note_source(const Module& module) {
  for (const Function& function : module)
    if (!function.isDeclaration())
      source_.insert_or_assign(Inlining::name_of(function).str(), signature_of(function));
}

void Signatures::note_result(const Module& module) {
  for (const Function& function : module) {
    if (function.isDeclaration()) continue;
    auto source = source_.find(Inlining::name_of(function));
    if (source == source_.end()) continue;
    Signature signature = signature_of(function);
    extractor::CompiledFunction result;
    result.changed = signature.arguments != source->second.arguments;
    result.noresult = signature.result != source->second.result || returns_nothing(function);
    if (result != extractor::CompiledFunction()) functions_[source->first] = result;
  }
  for (const Function& function : module)
    for (const Instruction& instruction : instructions(function)) {
      const auto* call = dyn_cast<CallBase>(&instruction);
      const Function* callee = call ? call->getCalledFunction() : nullptr;
      if (!callee || !source_.contains(Inlining::name_of(*callee))) continue;
      for (unsigned i = 0; i < call->arg_size(); ++i)
        if (isa<UndefValue>(call->getArgOperand(i))) // poison is one
          functions_[Inlining::name_of(*callee).str()].poison.insert(i);
    }
}

void Signatures::attach(PassBuilder& builder) {
  builder.registerPipelineStartEPCallback([this](ModulePassManager& passes, OptimizationLevel) {
    passes.addPass(Look([this](const Module& module) { note_source(module); }));
  });
  builder.registerOptimizerLastEPCallback(
      [this](ModulePassManager& passes, OptimizationLevel, ThinOrFullLTOPhase) {
        passes.addPass(Look([this](const Module& module) { note_result(module); }));
      });
}

} // namespace rdb::codegen
