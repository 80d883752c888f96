// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// rdb print for programs whose code rdb-clang cannot make again: gdb finds the values by the debug
// information.
#pragma once

#include "rdbtool/debug/print/print_build.h"
#include "rdbtool/gdb/replay/replay_target.h"

#include <string>
#include <vector>

namespace rdb::cli {

struct DebugInfoPrint {
  std::string trace, process;
  std::vector<debug::ProgramCopy> files; // the program and its libraries
  std::vector<debug::PrintRequest> requests;
  std::string condition;
  std::string from, to;
  uint64_t max_hits;
};

// Writes hits to standard output as a region does. The exit status; trouble is told on standard error.
int print_by_debug_info(const DebugInfoPrint& print);

} // namespace rdb::cli
