// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb-clang as a driver: clang's own driver decides what is to be done, rdb does the compile and link steps.
#pragma once

#include "llvm-passes/driver/unit.h"

#include <string>
#include <utility>
#include <vector>

namespace rdb::driver {

// Where rdb-clang finds what belongs to it, and how it was called.
struct Installation {
  std::string header_directory;                           // holds rdb/rdb.h and nothing else
  std::string command;                                    // the command line
  LostRegions lost_regions = LostRegions::kWarn;          // -W[no-][error=]rdb-lost-region, --rdb-strict
  std::vector<std::pair<std::string, std::string>> edits; // --rdb-edit=FILE=TEXT
  std::vector<std::string> debug_sources;                 // --rdb-debug-source=FILE
};

Installation find_installation();

int driver_main(int argc, char** argv);

} // namespace rdb::driver
