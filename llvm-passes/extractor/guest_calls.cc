// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/guest_calls.h"

#include "llvm-passes/extractor/guest_addresses.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <vector>

using namespace llvm;

namespace rdb::extractor {
namespace {

Function* support_function(Module& module, StringRef name) {
  auto* function = Function::Create(FunctionType::get(Type::getVoidTy(module.getContext()), false),
                                    GlobalValue::ExternalLinkage, name, module);
  function->setVisibility(GlobalValue::HiddenVisibility);
  return function;
}

// Is it given memory of the program that it may write to? Null if it certainly is not.
Value* is_given_memory(IRBuilder<>& builder, const CallBase& call) {
  Value* result = nullptr;
  if (call.hasFnAttr(Attribute::ReturnsTwice)) return result; // such a function knows its caller's frame
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    Value* argument = call.getArgOperand(i);
    if (!argument->getType()->isPointerTy() || isa<ConstantPointerNull, UndefValue, Function>(argument) ||
        is_own_memory(argument) || call.isByValArgument(i) || call.getParamAttr(i, kOnlyReads).isValid())
      continue;
    Value* is_memory = is_guest_memory(builder, argument);
    result = result ? builder.CreateOr(result, is_memory) : is_memory;
  }
  return result;
}

} // namespace

void redirect_guest_calls(Module& module) {
  std::vector<CallBase*> calls;
  for (Function& function : module)
    for (Instruction& instruction : instructions(function))
      if (auto* call = dyn_cast<CallBase>(&instruction); call && call->isIndirectCall())
        calls.push_back(call);
  if (calls.empty()) return;

  Type* pointer = PointerType::get(module.getContext(), 0);
  auto* target =
      new GlobalVariable(module, pointer, false, GlobalValue::ExternalLinkage, nullptr, "__rdb_guest_target");
  target->setVisibility(GlobalValue::HiddenVisibility);
  Function* to_program = support_function(module, "__rdb_guest_call");
  Function* to_any = support_function(module, "__rdb_watched_call");
  for (CallBase* call : calls) {
    IRBuilder<> builder(call);
    Value* callee = call->getCalledOperand();
    Value* is_rdbs = is_guest_address(builder, callee);
    Function* stub = to_program;
    if (Value* is_given = is_given_memory(builder, *call)) {
      is_rdbs = builder.CreateOr(is_rdbs, is_given);
      stub = to_any;
    }
    // Directly before the call: its arguments, which may be calls themselves, are computed.
    builder.CreateStore(callee, target);
    call->setCalledOperand(builder.CreateSelect(is_rdbs, stub, callee));
  }
}

} // namespace rdb::extractor
