// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/guest_calls.h"

#include "llvm-passes/extractor/guest_addresses.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <vector>

using namespace llvm;

namespace rdb::extractor {

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
  auto* stub = Function::Create(FunctionType::get(Type::getVoidTy(module.getContext()), false),
                                GlobalValue::ExternalLinkage, "__rdb_guest_call", module);
  stub->setVisibility(GlobalValue::HiddenVisibility);
  for (CallBase* call : calls) {
    IRBuilder<> builder(call);
    Value* callee = call->getCalledOperand();
    Value* is_guest = is_guest_address(builder, callee);
    // Directly before the call: its arguments, which may be calls themselves, are computed.
    builder.CreateStore(callee, target);
    call->setCalledOperand(builder.CreateSelect(is_guest, stub, callee));
  }
}

} // namespace rdb::extractor
