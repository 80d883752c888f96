// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a source file was compiled: from compile_commands.json, from a bundle that rdb-clang left beside the
// program, or as the user says. If nobody knows, there are usual ways to try: whether one was right can be
// checked.
#pragma once

#include <string>
#include <vector>

namespace rdb::debug {

struct CompileCommand {
  std::string directory;
  bool cxx = false;
  std::vector<std::string> flags; // without compiler, input and output
  std::string from;               // where it was found, for messages
};

// The ways in which `source` (an absolute path) may have been compiled, the surest first. `flags`, if not
// empty, are the user's and the only ones.
std::vector<CompileCommand> compile_commands(const std::string& source, const std::string& program,
                                             const std::vector<std::string>& flags);

// The flags of a command line that matter for the code: no compiler, inputs, outputs, dependency files.
std::vector<std::string> flags_of(const std::vector<std::string>& words);

// A command as a shell would split it.
std::vector<std::string> split_command(const std::string& command);

} // namespace rdb::debug
