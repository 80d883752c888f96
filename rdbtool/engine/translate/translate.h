// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns a path through guest code into a block of the code cache.
#pragma once

#include "rdbtool/engine/code_cache.h"

#include <span>
#include <unordered_map>

namespace rdb::engine {

// One instruction of a path and where the path goes after it.
struct PathStep {
  Instruction instruction;
  uint64_t next = 0;
};

// Why a path ends behind its last instruction, where that instruction does not end it by itself.
enum class PathEnd : uint8_t {
  goes_on, // at the last step's `next`
  stop,    // before an address at which a stop is requested: `next`
};

// How changes of the code that a path was made from are noticed.
enum class CodeTrust : uint8_t {
  watched,  // somebody will say so
  compared, // the block looks for itself
};

// Addresses of instructions before which the host is called, with how many want it.
using HookSet = std::unordered_map<uint64_t, HookUse>;

// A path is not empty. Only its last instruction may be of a kind that needs the host.
Block& translate(CodeCache& cache, std::span<const PathStep> path, Flavour flavour, PathEnd end,
                 const HookSet& hooks = {}, CodeTrust trust = CodeTrust::watched);

} // namespace rdb::engine
