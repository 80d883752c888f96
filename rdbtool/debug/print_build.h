// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the bundle for rdb print: compiles the sources with regions in them, in memory as far as the user's
// tree is concerned, and binds the result to the recorded program. That the code is the recorded one is
// checked byte by byte.
#pragma once

#include "rdbtool/debug/compile_command.h"
#include "rdbtool/debug/print_text.h"

#include <string>
#include <vector>

namespace rdb::debug {

struct PrintBuild {
  std::string compiler_folder;         // where rdb-clang is
  std::string folder;                  // for temporary files
  std::string program;                 // the recorded program's own copy
  std::string program_path;            // where it was when it was recorded
  std::vector<std::string> libraries;  // that it uses
  std::vector<std::string> user_flags; // behind --
};

struct PrintSource {
  std::string path; // absolute
  std::vector<PrintRequest> requests;
  EditedSource edited;
  std::string way; // how its flags were found
};

// Returns the bundle's path. Throws UserError with the compiler's own words.
std::string build_print(const PrintBuild& build, std::vector<PrintSource>& sources,
                        const std::string& condition);

} // namespace rdb::debug
