// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes a function of each region: void f(void **args), where args[i] is the address of the i-th program
// variable that the region uses.
#pragma once

#include "llvm-passes/extractor/extraction.h"

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace rdb::extractor {

// Outlines every region of the module (which must be as the front end left it) and tells about each in
// `extraction`. The host functions stay as they are.
void outline_regions(llvm::Module& module, Extraction& extraction);

} // namespace rdb::extractor
