// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How debug code tells the program's memory from its own.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>

namespace rdb::extractor {

// Addresses of the replayed program lie below this one, those of rdb and its libraries above
// (rdbtool/guest/layout.h).
constexpr uint64_t kGuestEnd = 0x500000000000;

inline llvm::Value* is_guest_address(llvm::IRBuilder<>& builder, llvm::Value* address) {
  return builder.CreateICmpULT(builder.CreatePtrToInt(address, builder.getInt64Ty()),
                               builder.getInt64(kGuestEnd));
}

} // namespace rdb::extractor
