// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rdbtool/debug/twins/hook_plan.h"

#include <map>

namespace rdb::debug {
namespace {

class Planner {
public:
  Planner(const TwinFacts& facts, const HookQuestions& questions) : questions_(questions) {
    for (const TwinFacts::Call& call : facts.calls)
      callers_[call.callee].push_back(&call);
  }

  void add(uint32_t function) {
    std::set<uint32_t> seen;
    bool is_hooked = climb(function, function, seen);
    if (!is_hooked) plan_.missed.push_back({function, questions_.why_no_entry(function)});
  }

  HookPlan run() {
    for (auto& [function, inner] : inner_)
      plan_.hooks.push_back({function, std::move(inner)});
    return std::move(plan_);
  }

private:
  // Sees to the calls of `function`, in whose code that of `origin` may stand. False if it is never entered
  // where anybody could see it.
  bool climb(uint32_t function, uint32_t origin, std::set<uint32_t>& seen) {
    if (!seen.insert(function).second) return false; // it was asked on another way
    const bool has_entry = questions_.why_no_entry(function).empty();
    bool is_hooked = has_entry;
    if (has_entry) {
      std::set<uint32_t>& inner = inner_[function];
      if (function != origin) inner.insert(origin);
    }
    for (const TwinFacts::Call* call : callers_[function]) {
      if (call->caller == function) continue;
      if (has_entry && questions_.has_all_calls(call->caller, function, call->count)) continue;
      is_hooked |= climb(call->caller, origin, seen);
    }
    return is_hooked;
  }

  const HookQuestions& questions_;
  std::map<uint32_t, std::vector<const TwinFacts::Call*>> callers_;
  std::map<uint32_t, std::set<uint32_t>> inner_;
  HookPlan plan_;
};

} // namespace

HookPlan plan_hooks(const TwinFacts& facts, const std::set<uint32_t>& with_regions,
                    const HookQuestions& questions) {
  Planner planner(facts, questions);
  for (uint32_t function : with_regions)
    planner.add(function);
  return planner.run();
}

} // namespace rdb::debug
