// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the bundle for rdb print: compiles the sources with regions in them, without writing to the user's
// source tree, and binds the result to the recorded program or to the library that has the code. It checks
// byte by byte that the code is the recorded one.
#pragma once

#include "rdbtool/debug/print/compile_command.h"
#include "rdbtool/debug/print/print_text.h"

#include <string>
#include <vector>

namespace rdb::debug {

// A program or library that the recording maps.
struct ProgramCopy {
  std::string path; // what it was called
  std::string copy; // the trace's own
};

struct PrintBuild {
  std::string compiler_folder;         // where rdb-clang is
  std::string folder;                  // for temporary files
  std::vector<ProgramCopy> files;      // the program, then its libraries
  std::vector<std::string> user_flags; // behind --
};

struct PrintSource {
  std::string path; // absolute
  std::vector<PrintRequest> requests;
  EditedSource edited;
};

struct PrintBundles {
  std::vector<std::string> paths;
  std::string why_not; // not empty: nothing that was recorded has the sources' code, for this reason
};

// Throws UserError, with the compiler's own words, for a mistake in what the user typed.
PrintBundles build_print(const PrintBuild& build, std::vector<PrintSource>& sources,
                         const std::string& condition);

} // namespace rdb::debug
