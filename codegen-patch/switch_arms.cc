// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/switch_arms.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

#include <algorithm>

namespace rdb::codegen {

using namespace llvm;

// By where they begin. Cases of more than 64 bits are told apart by their lowest ones.
std::map<const BasicBlock*, std::set<SwitchArms::Case>> SwitchArms::arms_of(const SwitchInst& branch) {
  std::map<const BasicBlock*, std::set<Case>> arms;
  arms[branch.getDefaultDest()].insert(std::nullopt);
  for (const auto& one : branch.cases())
    arms[one.getCaseSuccessor()].insert(one.getCaseValue()->getValue().sextOrTrunc(64).getSExtValue());
  return arms;
}

void SwitchArms::before(const Function& function) {
  switches_.clear();
  for (const BasicBlock& block : function) {
    const auto* branch = dyn_cast_or_null<SwitchInst>(block.getTerminator());
    if (!branch) continue;
    Switch& known = switches_[&block];
    known.condition = branch->getCondition();
    for (const auto& [begin, cases] : arms_of(*branch)) {
      std::set<const BasicBlock*> seen;
      for (const BasicBlock* at = begin; at && seen.insert(at).second; at = at->getSingleSuccessor())
        for (const DbgLabelRecord* label : labels_in(*at))
          known.cases[copy_of(*label)].insert(cases.begin(), cases.end());
    }
  }
}

void SwitchArms::after(Function& function) {
  for (const BasicBlock& block : function) {
    const auto* branch = dyn_cast_or_null<SwitchInst>(block.getTerminator());
    auto known = switches_.find(&block);
    if (!branch || known == switches_.end()) continue;
    for (const auto& [begin, cases] : arms_of(*branch))
      for (DbgLabelRecord* label : labels_in(*begin)) {
        auto own = known->second.cases.find(copy_of(*label));
        if (own == known->second.cases.end()) continue;
        // Of a switch over something else only the number of cases can be compared.
        bool is_same = known->second.condition == branch->getCondition()
                           ? std::ranges::includes(own->second, cases)
                           : cases.size() <= own->second.size();
        if (!is_same) lead_astray(*label);
      }
  }
  switches_.clear();
}

} // namespace rdb::codegen
