// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The twin of a unit: all of its code as the source says it, in which each region is a call of its debug
// function. rdb runs a twin's function beside the recorded one, in the recorded program's memory. So the twin
// has the program's code and none of what happens to a program as a whole: it is not started, not linked, and
// its variables are the program's.
#pragma once

#include "llvm-passes/extractor/extraction.h"
#include "llvm-passes/extractor/twin_facts.h"

#include <functional>

namespace rdb::extractor {

// The section with the facts, which is not loaded.
inline constexpr const char* kTwinSection = ".rdbtwin";

// void __rdb_twin_call(void* frame): a new call of a function begins whose regions share debug variables.
inline constexpr const char* kTwinCall = "__rdb_twin_call";

// Makes a twin of the marked view's module as the front end left it, with the facts in its section. Returns
// how many regions it calls. There must be no debug information.
size_t make_twin(llvm::Module& module, const Extraction& extraction, const TwinUnit& unit,
                 const std::function<unsigned(unsigned region)>& line_of_region, const SourceNames& names,
                 const CompiledFunctions& compiled);

} // namespace rdb::extractor
