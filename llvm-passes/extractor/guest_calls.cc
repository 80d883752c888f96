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

// Would it find such memory behind objects that it is given? Null if there are none.
Value* finds_memory(IRBuilder<>& builder, const CallBase& call) {
  Value* result = nullptr;
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    Attribute look = call.getParamAttr(i, kLook);
    if (!look.isValid()) continue;
    FunctionCallee function = builder.GetInsertBlock()->getModule()->getOrInsertFunction(
        look.getValueAsString(), builder.getInt64Ty(), builder.getPtrTy());
    cast<Function>(function.getCallee())->setVisibility(GlobalValue::HiddenVisibility);
    Value* found = builder.CreateIsNotNull(builder.CreateCall(function, {call.getArgOperand(i)}));
    result = result ? builder.CreateOr(result, found) : found;
  }
  return result;
}

struct Stubs {
  Function* to_program; // __rdb_guest_call
  Function* to_any;     // __rdb_watched_call
  Function* always;     // __rdb_always_watched_call
};

// What is to be called instead.
Value* redirected(IRBuilder<>& builder, const CallBase& call, const Stubs& stubs) {
  Value* callee = call.getCalledOperand();
  // Such a function knows its caller's frame.
  bool stays = call.hasFnAttr(Attribute::ReturnsTwice);
  // A pointer, an entry of a vtable or a name of which nothing is known.
  if (!stays && !call.hasFnAttr(kKnown)) return stubs.always;
  Value* is_rdbs = is_guest_address(builder, callee);
  Value* is_given = stays ? nullptr : is_given_memory(builder, call);
  if (is_given) is_rdbs = builder.CreateOr(is_rdbs, is_given);
  Value* result = builder.CreateSelect(is_rdbs, is_given ? stubs.to_any : stubs.to_program, callee);
  if (Value* finds = stays ? nullptr : finds_memory(builder, call))
    result = builder.CreateSelect(finds, stubs.always, result);
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
  Stubs stubs{support_function(module, "__rdb_guest_call"), support_function(module, "__rdb_watched_call"),
              support_function(module, "__rdb_always_watched_call")};
  for (CallBase* call : calls) {
    IRBuilder<> builder(call);
    Value* callee = call->getCalledOperand();
    Value* instead = redirected(builder, *call, stubs);
    // Directly before the call: its arguments, which may be calls themselves, are computed.
    builder.CreateStore(callee, target);
    call->setCalledOperand(instead);
  }
}

} // namespace rdb::extractor
