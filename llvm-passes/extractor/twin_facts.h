// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What rdb has to know of a twin's functions to run one in place of the recorded program's: where the ABI
// puts results and arguments, which functions call which, what the optimiser did to them, whose statics are
// whose. It is the text of section .rdbtwin; descriptors/README.md has its format.
#pragma once

#include "llvm-passes/extractor/source_names.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace rdb::extractor {

// What the compile of the program itself made of a function's interface.
struct CompiledFunction {
  bool changed = false;      // it takes other arguments than the source says
  bool noresult = false;     // it returns something else, as a rule nothing
  std::set<unsigned> poison; // positions of arguments for which some call passes nothing
  friend bool operator==(const CompiledFunction&, const CompiledFunction&) = default;
};
// By the name of the symbol; functions that are as the source says need not be there.
using CompiledFunctions = std::map<std::string, CompiledFunction, std::less<>>;

// A debug variable that a region shares with others in the same call of the function.
struct SharedVariable {
  size_t position = 0; // among the region's variables
  std::string key;     // in the function
  uint64_t size = 0;
  uint64_t align = 1;
};

// A region that the twin calls.
struct TwinRegion {
  std::string symbol;
  std::string host;
  unsigned line = 0;      // of the edited file
  const char* reads = ""; // of the program: see descriptors/README.md
  std::vector<SharedVariable> shared;
};

struct TwinUnit {
  std::string key;
  std::string source;
  std::string directory;
};

// `module` is the program's code as the front end left it, without markers and with the linkage that the
// source says.
std::string twin_facts(const llvm::Module& module, const TwinUnit& unit,
                       const std::vector<TwinRegion>& regions, const SourceNames& names,
                       const CompiledFunctions& compiled);

} // namespace rdb::extractor
