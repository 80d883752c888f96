// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "llvm/ADT/StringRef.h"

namespace rdb::extractor {

// Functions of the C library that write to no other memory than what their pointer arguments point to, their
// own, and that of debug code.
bool writes_where_told(llvm::StringRef name);

} // namespace rdb::extractor
