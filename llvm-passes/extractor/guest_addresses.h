// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How debug code tells the program's memory from its own.
#pragma once

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>

#include <cstdint>

namespace rdb::extractor {

// Addresses of the replayed program lie below this one, those of rdb and its libraries above
// (rdbtool/guest/memory/layout.h).
constexpr uint64_t kGuestEnd = 0x500000000000;

inline llvm::Value* is_guest_address(llvm::IRBuilder<>& builder, llvm::Value* address) {
  return builder.CreateICmpULT(builder.CreatePtrToInt(address, builder.getInt64Ty()),
                               builder.getInt64(kGuestEnd));
}

// Not null either.
inline llvm::Value* is_guest_memory(llvm::IRBuilder<>& builder, llvm::Value* address) {
  constexpr uint64_t kFirstPage = 0x1000;
  llvm::Value* offset =
      builder.CreateSub(builder.CreatePtrToInt(address, builder.getInt64Ty()), builder.getInt64(kFirstPage));
  return builder.CreateICmpULT(offset, builder.getInt64(kGuestEnd - kFirstPage));
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
