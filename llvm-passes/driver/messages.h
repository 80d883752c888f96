// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program is compiled without its regions, so clang's messages speak of lines of a file that nobody sees.
// They are printed with the lines of the edited file.
#pragma once

#include "llvm-passes/extractor/region_files.h"

namespace clang {
class CompilerInstance;
} // namespace clang

namespace rdb::driver {

// To be called when the compiler's diagnostics are set up, before it reads a file.
void map_messages(clang::CompilerInstance& compiler, const extractor::RegionFiles& files);

} // namespace rdb::driver
