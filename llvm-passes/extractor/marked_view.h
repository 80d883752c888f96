// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program's code with a marker at the place of each region, as the front end left it: which debug
// function belongs to a marker, and where the variables are that it takes. The compile with the regions has
// found these functions; both are about the same program, but neither knows the other's values.
#pragma once

#include "llvm-passes/extractor/extraction.h"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
class CallInst;
class Function;
class Module;
class Value;
} // namespace llvm

namespace rdb::extractor {

// A marker and the index of its debug function in Extraction::functions.
struct RegionMark {
  llvm::CallInst* mark;
  size_t function;
};

// Markers of regions that have a debug function, in the order of the module.
std::vector<RegionMark> find_region_marks(const Extraction& extraction, llvm::Module& module);

// The addresses of a host's variables, by key and ordinal.
using VariableAddresses = std::map<std::pair<std::string, unsigned>, llvm::Value*>;
VariableAddresses variable_addresses(llvm::Function& host);

} // namespace rdb::extractor
