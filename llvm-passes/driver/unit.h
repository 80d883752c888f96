// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles one translation unit: the program without its regions, and, if it has any, the debug code and the
// descriptors, which travel inside the object.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <utility>
#include <vector>

namespace rdb::driver {

// What is said about a region that the optimiser left no place for.
enum class LostRegions { kIgnore, kWarn, kRefuse };

struct UnitOptions {
  std::string header_directory;
  LostRegions lost_regions = LostRegions::kWarn;
  std::string command;                                    // the user's command line, for the descriptors
  std::vector<std::pair<std::string, std::string>> edits; // --rdb-edit: a file, and the one that has its text
};

// `arguments` are cc1's, without "-cc1"; `program` is what clang would have been called. Exit status.
int compile_unit(llvm::ArrayRef<const char*> arguments, const char* program, const UnitOptions& options);

} // namespace rdb::driver
