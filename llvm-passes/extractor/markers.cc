// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/markers.h"

#include "llvm-passes/extractor/declarations.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace rdb::extractor {

namespace {

// The text of a string operand.
llvm::StringRef string_of(llvm::Value* value) {
  auto* global = llvm::dyn_cast<llvm::GlobalVariable>(value->stripPointerCasts());
  if (!global || !global->hasInitializer()) return {};
  auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(global->getInitializer());
  return data && data->isCString() ? data->getAsCString() : llvm::StringRef();
}

bool is_marker(llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == llvm::Intrinsic::annotation &&
         string_of(call->getArgOperand(1)).starts_with("rdb.");
}

bool is_note(llvm::Instruction& instruction, llvm::StringRef kind) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == llvm::Intrinsic::var_annotation &&
         string_of(call->getArgOperand(1)).starts_with(kind);
}

bool is_any_note(llvm::Instruction& instruction) {
  return is_note(instruction, kVariableNote) || is_note(instruction, kDebugLocal);
}

std::vector<AnnotatedVariable> find_notes(llvm::Function& function, llvm::StringRef kind) {
  std::vector<AnnotatedVariable> variables;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (is_note(instruction, kind)) {
      auto& call = llvm::cast<llvm::CallInst>(instruction);
      variables.push_back(
          {&call, call.getArgOperand(0)->stripPointerCasts(), string_of(call.getArgOperand(1))});
    }
  return variables;
}

} // namespace

std::vector<Marker> find_markers(llvm::Function& function) {
  std::vector<Marker> markers;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (!is_marker(instruction)) continue;
    auto& call = llvm::cast<llvm::CallInst>(instruction);
    auto* number = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
    markers.push_back({&call, string_of(call.getArgOperand(1)).drop_front(4),
                       number ? static_cast<unsigned>(number->getZExtValue()) : 0});
  }
  return markers;
}

std::vector<AnnotatedVariable> find_variables(llvm::Function& function) {
  return find_notes(function, kVariableNote);
}

std::vector<AnnotatedVariable> find_debug_variables(llvm::Function& function) {
  return find_notes(function, kDebugLocal);
}

std::vector<llvm::AllocaInst*> find_unreached_variables(llvm::Function& function) {
  std::vector<llvm::AllocaInst*> variables;
  for (llvm::Instruction& instruction : function.getEntryBlock()) {
    auto* slot = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (!slot || !slot->hasName() || slot->getName().contains('.')) continue;
    if (slot->getName() == "retval" || slot->getName() == "saved_stack" || slot->getName() == "nrvo" ||
        slot->getName() == "tmp")
      continue;
    if (llvm::none_of(slot->users(), [](llvm::User* user) {
          return llvm::isa<llvm::Instruction>(user) && is_any_note(*llvm::cast<llvm::Instruction>(user));
        }))
      variables.push_back(slot);
  }
  return variables;
}

void erase_annotations(llvm::Module& module) {
  std::vector<llvm::Instruction*> dead;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (is_marker(instruction) || is_any_note(instruction)) dead.push_back(&instruction);
  std::vector<llvm::GlobalVariable*> strings;
  // From the last one on: the debug records of an instruction go to the next one, and would go on and on.
  for (llvm::Instruction* instruction : llvm::reverse(dead)) {
    for (llvm::Value* operand : instruction->operands())
      if (auto* global = llvm::dyn_cast<llvm::GlobalVariable>(operand->stripPointerCasts()))
        strings.push_back(global);
    instruction->eraseFromParent();
  }
  llvm::sort(strings);
  strings.erase(llvm::unique(strings), strings.end());
  for (llvm::GlobalVariable* global : strings)
    if (global->use_empty()) global->eraseFromParent();
  // The declarations of the intrinsics would be harmless; without them the module is what it would have been.
  for (llvm::Function& function : llvm::make_early_inc_range(module))
    if (function.isIntrinsic() && function.use_empty() &&
        (function.getIntrinsicID() == llvm::Intrinsic::annotation ||
         function.getIntrinsicID() == llvm::Intrinsic::var_annotation))
      function.eraseFromParent();
}

} // namespace rdb::extractor
