// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/thread_variables.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

using namespace llvm;

namespace rdb::extractor {

GlobalValue* variable_named(Module& module, StringRef mangled) {
  if (GlobalValue* variable = module.getNamedValue(("_Z" + mangled).str())) return variable;
  // At file scope, where names stay as they are: "5count".
  return module.getNamedValue(mangled.ltrim("0123456789"));
}

std::vector<GlobalValue*>
separate_thread_initialisers(Module& module, const std::vector<Function*>& initialisers,
                             const std::function<bool(GlobalValue*)>& is_debug_only) {
  if (initialisers.empty()) return {};
  LLVMContext& context = module.getContext();
  auto* done = new GlobalVariable(module, Type::getInt8Ty(context), false, GlobalValue::InternalLinkage,
                                  ConstantInt::get(Type::getInt8Ty(context), 0), "__rdb_thread_is_ready",
                                  nullptr, GlobalValue::GeneralDynamicTLSModel);
  auto* all = Function::Create(FunctionType::get(Type::getVoidTy(context), false),
                               GlobalValue::InternalLinkage, "__rdb_initialise_thread", module);
  BasicBlock* begin = BasicBlock::Create(context, "", all);
  BasicBlock* first_time = BasicBlock::Create(context, "", all);
  BasicBlock* end = BasicBlock::Create(context, "", all);
  IRBuilder<> builder(begin);
  Value* flag = builder.CreateThreadLocalAddress(done);
  builder.CreateCondBr(builder.CreateIsNull(builder.CreateLoad(builder.getInt8Ty(), flag)), first_time, end);
  builder.SetInsertPoint(first_time);
  builder.CreateStore(builder.getInt8(1), flag);
  for (Function* function : initialisers)
    builder.CreateCall(function);
  builder.CreateBr(end);
  builder.SetInsertPoint(end);
  builder.CreateRetVoid();
  // A variable's own function is another name for the one of all.
  for (GlobalAlias& alias : make_early_inc_range(module.aliases())) {
    StringRef name = alias.getName();
    if (!name.consume_front("_ZTH")) continue;
    GlobalValue* variable = variable_named(module, name);
    if (!variable || !is_debug_only(variable)) continue;
    alias.replaceAllUsesWith(all);
    alias.eraseFromParent();
  }
  std::vector<GlobalValue*> result(initialisers.begin(), initialisers.end());
  result.push_back(all);
  result.push_back(done);
  return result;
}

} // namespace rdb::extractor
