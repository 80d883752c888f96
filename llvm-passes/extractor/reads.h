// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which memory of the program does debug code read? Asked once for each variable, by following its address
// through the debug code and what that calls.
#pragma once

#include "llvm-passes/extractor/extraction.h"

#include <set>

namespace llvm {
class Function;
class Value;
} // namespace llvm

namespace rdb::extractor {

// `code`: the functions that are debug code; elsewhere a global variable is the program's own business.
Follow follow_reads(llvm::Value& address, const std::set<llvm::Function*>& code);

} // namespace rdb::extractor
