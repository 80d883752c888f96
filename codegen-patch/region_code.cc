// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/region_code.h"

#include "llvm/IR/Module.h"

#include <map>
#include <vector>

namespace rdb::codegen {

using namespace llvm;

namespace {

using Names = std::set<std::string>;
using Graph = std::map<std::string, Names>;

// Those to which the graph leads from some, and these.
Names reached_from(const Names& some, const Graph& graph) {
  Names found = some;
  std::vector<std::string> work(some.begin(), some.end());
  while (!work.empty()) {
    std::string name = std::move(work.back());
    work.pop_back();
    if (auto next = graph.find(name); next != graph.end())
      for (const std::string& one : next->second)
        if (found.insert(one).second) work.push_back(one);
  }
  return found;
}

} // namespace

RegionCode::RegionCode(const Module& module, const std::set<const Function*>& hosts, const Inlining* inlining)
    : has_all_(!inlining) {
  if (!inlining) return;
  for (const Function& function : module)
    known_.insert(Inlining::name_of(function));
  Graph callers, callees;
  for (const auto& [name, into] : inlining->callers())
    for (const std::string& caller_name : into) {
      StringRef callee = source_of(name);
      StringRef caller = source_of(caller_name);
      has_all_ |= callee.empty() || caller.empty();
      callers[callee.str()].insert(caller.str());
      callees[caller.str()].insert(callee.str());
    }
  Names names;
  for (const Function* host : hosts)
    names.insert(Inlining::name_of(*host).str());
  names_ = reached_from(reached_from(names, callers), callees);
}

// The optimiser names what it makes of a function after it, with a dot and more behind.
StringRef RegionCode::source_of(StringRef name) const {
  while (!name.empty() && !known_.contains(name)) {
    size_t dot = name.rfind('.');
    name = name.take_front(dot == StringRef::npos ? 0 : dot);
  }
  return name;
}

bool RegionCode::has(const Function& function) const {
  if (has_all_) return true;
  StringRef source = source_of(Inlining::name_of(function));
  return source.empty() || names_.contains(source.str());
}

} // namespace rdb::codegen
