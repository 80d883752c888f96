// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the C and C++ libraries do with the pointers that debug code hands them, as far as it is known by
// name.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace llvm {
class CallBase;
} // namespace llvm

namespace rdb::extractor {

// Of the C or C++ library: it reads what it is handed.
bool is_library(llvm::StringRef name);

// Of the C library: it reads the bytes that a pointer leads to and follows none of them.
bool reads_bytes(llvm::StringRef name);

// Does the call use this operand as a number alone, as printf does with what a %p is for?
bool uses_as_number(const llvm::CallBase& call, unsigned operand);

// How far <rdb/show.h> follows what it is handed the address of: the text of the type says so. Nothing if the
// call is another one.
std::optional<unsigned> depth_of_show(const llvm::CallBase& call);

} // namespace rdb::extractor
