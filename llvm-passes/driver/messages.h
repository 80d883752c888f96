// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler sees views of the edited files, so clang's messages speak of lines of a file that nobody sees.
// They are printed with the lines of the edited file, and so is what rdb-clang itself has to say.
#pragma once

#include "llvm-passes/extractor/region_files.h"

#include "clang/Basic/Diagnostic.h"

namespace clang {
class CompilerInstance;
class DiagnosticOptions;
} // namespace clang

namespace rdb::driver {

// To be called when the compiler's diagnostics are set up, before it reads a file.
void map_messages(clang::CompilerInstance& compiler, const extractor::RegionFiles& files,
                  extractor::ViewKind kind);

// Prints a message about a line of an edited file as clang prints its own.
void print_message(clang::DiagnosticsEngine::Level level, const extractor::RegionFile& file, unsigned line,
                   unsigned column, const std::string& text, clang::DiagnosticOptions& options);

} // namespace rdb::driver
