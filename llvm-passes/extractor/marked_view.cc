// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/marked_view.h"

#include "llvm-passes/extractor/declarations.h"
#include "llvm-passes/extractor/markers.h"

#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

#include <optional>
#include <set>

namespace rdb::extractor {

using namespace llvm;

namespace {

// Which debug function belongs to the marker of a region in this host? By the host's name; hosts whose name
// the regions changed (lambdas are numbered through) by their order.
class Hosts {
public:
  Hosts(const Extraction& extraction, Module& module) {
    std::map<unsigned, std::vector<size_t>> functions;
    for (size_t i = 0; i < extraction.functions.size(); ++i)
      functions[extraction.functions[i].region].push_back(i);
    std::map<unsigned, std::vector<CallInst*>> marks;
    for (Function& function : module)
      for (const Marker& marker : find_markers(function))
        if (marker.what == "mark") {
          marks[marker.region].push_back(marker.call);
          in_order_.push_back(marker.call);
        }
    for (auto& [region, calls] : marks) {
      std::vector<size_t>& candidates = functions[region];
      std::vector<CallInst*> rest;
      std::set<size_t> taken;
      for (CallInst* call : calls) {
        bool found = false;
        for (size_t candidate : candidates)
          if (extraction.functions[candidate].host == call->getFunction()->getName() &&
              taken.insert(candidate).second) {
            function_of_[call] = candidate;
            found = true;
            break;
          }
        if (!found) rest.push_back(call);
      }
      std::erase_if(candidates, [&](size_t candidate) { return taken.contains(candidate); });
      if (rest.size() == candidates.size())
        for (size_t i = 0; i < rest.size(); ++i)
          function_of_[rest[i]] = candidates[i];
    }
  }
  // All markers, in the order of the module.
  const std::vector<CallInst*>& in_order() const { return in_order_; }
  std::optional<size_t> find(CallInst* mark) const {
    auto found = function_of_.find(mark);
    return found == function_of_.end() ? std::nullopt : std::optional(found->second);
  }

private:
  std::vector<CallInst*> in_order_;
  std::map<CallInst*, size_t> function_of_;
};

} // namespace

std::vector<RegionMark> find_region_marks(const Extraction& extraction, Module& module) {
  Hosts hosts(extraction, module);
  std::vector<RegionMark> result;
  for (CallInst* mark : hosts.in_order())
    if (std::optional<size_t> index = hosts.find(mark); index && extraction.functions[*index].refused.empty())
      result.push_back({mark, *index});
  return result;
}

VariableAddresses variable_addresses(Function& host) {
  VariableAddresses result;
  std::map<std::string, unsigned> seen;
  for (const AnnotatedVariable& variable : find_variables(host)) {
    std::string key = parse_variable_note(variable.note).key;
    unsigned ordinal = seen[key]++;
    result[{key, ordinal}] = variable.address;
  }
  for (Instruction& instruction : host.getEntryBlock())
    if (isa<AllocaInst>(instruction) && instruction.getName() == "this.addr")
      result[{"this", 0}] = &instruction;
  for (AllocaInst* slot : find_unreached_variables(host)) {
    std::string key = "|" + slot->getName().str();
    unsigned ordinal = seen[key]++;
    result[{key, ordinal}] = slot;
  }
  return result;
}

} // namespace rdb::extractor
