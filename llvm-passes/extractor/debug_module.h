// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns the module of the compile with regions into the debug module of the unit: debug functions, what they
// need of the unit, and slots for everything else.
#pragma once

#include "llvm-passes/extractor/extraction.h"

#include <set>
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace rdb::extractor {

// What the program's own object has, by symbol: decides whether a static is reached in the program.
struct ProgramSymbols {
  std::set<std::string> local_functions; // safe to call: compiled without optimisation
  std::set<std::string> local_variables;
  std::set<std::string> global; // what it defines for other units, too
};

void reduce_to_debug_code(llvm::Module& module, const ProgramSymbols& program, Extraction& extraction);

} // namespace rdb::extractor
