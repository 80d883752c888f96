// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// At whose entries must a replay look, so that no call of a function with regions is missed?
//
// A call of g in the source is a call of g in the machine code, if the compiler has left it one. Or g's code
// stands in its caller f, so that the call is to be seen at f's entry alone, by running f's twin; and f may
// stand in its own callers in turn. So the plan begins with the functions that have regions, and goes from
// each to those of its callers in whose machine code fewer calls are to be seen than the source has.
#pragma once

#include "rdbtool/debug/twins/twin_facts.h"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace rdb::debug {

// A function whose entry is looked at.
struct PlannedHook {
  uint32_t function;        // index in TwinFacts::functions
  std::set<uint32_t> inner; // those with regions that may stand in its code
};

struct HookPlan {
  std::vector<PlannedHook> hooks;
  // Functions with regions some of whose calls cannot be seen, and why.
  struct Missed {
    uint32_t function;
    std::string why;
  };
  std::vector<Missed> missed;
};

struct HookQuestions {
  // Empty if a call of the function is surely to be seen at its entry; else why not.
  std::function<std::string(uint32_t function)> why_no_entry;
  // Does each call of `callee` in the source of `caller` have its own in the machine code?
  std::function<bool(uint32_t caller, uint32_t callee, uint64_t calls)> has_all_calls;
};

HookPlan plan_hooks(const TwinFacts& facts, const std::set<uint32_t>& with_regions,
                    const HookQuestions& questions);

} // namespace rdb::debug
