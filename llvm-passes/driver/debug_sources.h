// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Separate debug sources (--rdb-debug-source=FILE): files that are debug code from their first line to their
// last. They are compiled when a program is linked, with the options of that command, and are no part of it.
#pragma once

#include "rdbtool/base/temporary_folder.h"

#include <optional>
#include <string>
#include <vector>

namespace llvm::opt {
class InputArgList;
} // namespace llvm::opt

namespace rdb::driver {

struct DebugSource {
  std::string file;
  std::vector<std::string> compile; // the command, but for its input and output
};

DebugSource debug_source(const std::string& file, const llvm::opt::InputArgList& arguments, bool cxx);

// The objects of the sources, for as long as this lives. Throws UserError if one does not compile.
class DebugObjects {
public:
  explicit DebugObjects(const std::vector<DebugSource>& sources);
  const std::vector<std::string>& paths() const { return paths_; }

private:
  std::optional<TemporaryFolder> folder_;
  std::vector<std::string> paths_;
};

} // namespace rdb::driver
