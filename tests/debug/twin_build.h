// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes programs and twin objects for tests, with the system's compilers. A twin object is made as rdb-clang
// makes it, as far as loading goes: not optimised, local names global and hidden, and with a description.
#pragma once

#include "rdbtool/debug/twins/twin_facts.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rdb::debug {

// A folder that goes away with it.
class TwinBuild {
public:
  TwinBuild();
  ~TwinBuild();
  TwinBuild(const TwinBuild&) = delete;
  TwinBuild& operator=(const TwinBuild&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // A file in tests/debug/programs/twins.
  static std::string source(const std::string& name);
  // Runs a command that must succeed.
  static void run(const std::vector<std::string>& command);

  // All of it in one go: "clang-22 -O2", the flags, the sources.
  std::string program(const std::string& name, const std::string& compiler,
                      const std::vector<std::string>& sources);

  // The object, with a description of what is in it and these lines.
  std::string twin(const std::string& name, const std::string& source, const std::string& flags,
                   const std::vector<std::string>& lines = {});

private:
  std::filesystem::path folder_;
};

std::string read_whole(const std::string& path);
// The line of a source that has the marker "line: NAME"; 0 if none has.
unsigned marked_line(const std::string& source, const std::string& name);
std::vector<std::string> words_of(const std::string& text);

} // namespace rdb::debug
