// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A linker's command line as GNU ld, gold and lld understand it: what it reads, what it writes, and how to
// run it again on other files without disturbing what the first run left behind.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rdb::link {

struct CommandInput {
  size_t argument;  // index of the argument that names it (of `-l` too)
  std::string path; // as found
};

class Command {
public:
  // Response files (@FILE) are expanded. argv[0] is the linker.
  explicit Command(const std::vector<std::string>& argv);

  const std::string& linker() const { return arguments_[0]; }
  const std::string& output() const { return output_; }
  bool relocatable() const { return relocatable_; } // -r
  bool shared() const { return shared_; }

  // Objects, archives, shared libraries and scripts in their order; libraries that were not found are left
  // out.
  const std::vector<CommandInput>& inputs() const { return inputs_; }
  const std::vector<std::string>& library_paths() const { return library_paths_; }
  // Looks for libNAME.so (unless static) and libNAME.a, or for NAME itself if it begins with ':'.
  std::string find_library(std::string_view name, bool allow_shared) const;

  // The same link with some inputs replaced, to another output: nothing is stripped, nothing compressed, and
  // no side output (maps, dependency files) written.
  std::vector<std::string> repeated(const std::map<size_t, std::string>& replaced,
                                    const std::string& output) const;

private:
  void parse();

  std::vector<std::string> arguments_;
  std::string output_ = "a.out";
  std::string sysroot_;
  bool relocatable_ = false;
  bool shared_ = false;
  std::vector<CommandInput> inputs_;
  std::vector<std::string> library_paths_;
};

// Runs a program; its output goes to a file. Returns its exit status. A long command line goes through a
// response file beside `output_path`.
int run_tool(const std::vector<std::string>& argv, const std::string& output_path);

} // namespace rdb::link
