// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How debug code tells the program's memory from its own.
#pragma once

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>

namespace rdb::extractor {

// Where rdb and debug code lie is known when the module is loaded: __rdb_host_place of the module
// (runtime-libs/module/module_host.h) has the first range and where the second begins. Everything else is the
// replayed program's.
inline llvm::Value* is_guest_address(llvm::IRBuilder<>& builder, llvm::Value* address) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  llvm::Type* word = builder.getInt64Ty();
  llvm::StructType* type = llvm::StructType::get(word, word, word);
  auto* place = llvm::cast<llvm::GlobalVariable>(module.getOrInsertGlobal("__rdb_host_place", type));
  place->setVisibility(llvm::GlobalValue::HiddenVisibility);
  place->setDSOLocal(true);
  auto part = [&](unsigned index) {
    llvm::LoadInst* load = builder.CreateLoad(word, builder.CreateStructGEP(type, place, index));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(module.getContext(), {}));
    return load;
  };
  llvm::Value* number = builder.CreatePtrToInt(address, word);
  llvm::Value* after_low = builder.CreateICmpUGE(builder.CreateSub(number, part(0)), part(1));
  return builder.CreateAnd(after_low, builder.CreateICmpULT(number, part(2)));
}

// Not null either.
inline llvm::Value* is_guest_memory(llvm::IRBuilder<>& builder, llvm::Value* address) {
  constexpr uint64_t kFirstPage = 0x1000;
  llvm::Value* number = builder.CreatePtrToInt(address, builder.getInt64Ty());
  return builder.CreateAnd(builder.CreateICmpUGE(number, builder.getInt64(kFirstPage)),
                           is_guest_address(builder, address));
}

// The module's own, for sure: its variables on the stack and its globals.
inline bool is_own_memory(const llvm::Value* address) {
  const llvm::Value* object = llvm::getUnderlyingObject(address);
  return llvm::isa<llvm::AllocaInst>(object) || llvm::isa<llvm::GlobalVariable>(object);
}

// Says of an argument of a call that nothing is written through it which is not undone anyway.
constexpr const char kOnlyReads[] = "rdb-only-reads";
// Says of a call that nothing is written but through its arguments, and where looks find.
constexpr const char kKnown[] = "rdb-known";
// Says of an argument which function of the module looks at it.
constexpr const char kLook[] = "rdb-look";

} // namespace rdb::extractor
