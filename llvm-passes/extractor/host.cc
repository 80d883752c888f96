// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm-passes/extractor/host.h"

#include "llvm-passes/extractor/declarations.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

#include <algorithm>

namespace rdb::extractor {

using namespace llvm;

Host::Host(Function& function) : function_(function), markers_(find_markers(function)) {
  if (markers_.empty()) return;
  for (BasicBlock& block : function)
    numbers_.emplace(&block, numbers_.size());
  for (const AnnotatedVariable& variable : find_debug_variables(function))
    declared_.insert(variable.address);
  find_regions();
  find_variables();
  find_shared();
}

bool Host::is_leave(const Instruction& instruction, unsigned region) const {
  auto found = leaves_.find(&instruction);
  return found != leaves_.end() && found->second == region;
}

std::vector<BasicBlock*> Host::in_order(const std::set<BasicBlock*>& blocks) const {
  std::vector<BasicBlock*> result(blocks.begin(), blocks.end());
  std::ranges::sort(result, {}, [&](const BasicBlock* block) { return numbers_.at(block); });
  return result;
}

void Host::find_regions() {
  std::set<unsigned> guarded;
  for (const Marker& marker : markers_) {
    if (marker.what == "leave") leaves_[marker.call] = marker.region;
    if (marker.what == "escape") guarded.insert(marker.region);
  }
  for (const Marker& marker : markers_) {
    if (marker.what != "enter") continue;
    RegionInHost& region = regions_.emplace_back();
    region.enter = marker;
    region.is_guarded = guarded.contains(marker.region);
    std::vector<Instruction*> work{marker.call->getNextNode()};
    while (!work.empty()) {
      Instruction* next = work.back();
      work.pop_back();
      for (; next && region.instructions.insert(next).second; next = next->getNextNode()) {
        if (is_leave(*next, marker.region)) break;
        if (next->isTerminator())
          for (BasicBlock* successor : successors(next))
            work.push_back(&successor->front());
      }
    }
    inside_.insert(region.instructions.begin(), region.instructions.end());
  }
}

void Host::find_variables() {
  std::map<std::string, unsigned> seen;
  for (const AnnotatedVariable& variable : extractor::find_variables(function_)) {
    VariableNote note = parse_variable_note(variable.note);
    unsigned ordinal = seen[note.key]++;
    variables_.try_emplace(variable.address,
                           HostVariable{Variable::Kind::kLocal, note.key, ordinal, note.name, note.type});
  }
  for (Instruction& instruction : function_.getEntryBlock())
    if (isa<AllocaInst>(instruction) && instruction.getName() == "this.addr")
      variables_.try_emplace(&instruction, HostVariable{Variable::Kind::kThis, "this", 0, "this", ""});
  for (AllocaInst* slot : find_unreached_variables(function_)) {
    if (all_of(slot->users(), [&](User* user) { return inside_.contains(cast<Instruction>(user)); }))
      continue; // the debug code's
    std::string name = slot->getName().str();
    variables_.try_emplace(slot,
                           HostVariable{Variable::Kind::kLocal, "|" + name, seen["|" + name]++, name, ""});
  }
}

// The host's code that destroys debug variables at the end of their scope is not in any region, and never
// runs.
void Host::find_shared() {
  std::map<AllocaInst*, std::set<unsigned>> users;
  for (const RegionInHost& region : regions_)
    for (Instruction* instruction : region.instructions)
      for (Value* operand : instruction->operands())
        if (auto* slot = dyn_cast<AllocaInst>(operand); slot && !variables_.contains(slot))
          users[slot].insert(region.enter.region);
  for (auto& [slot, regions] : users) {
    bool only_regions = declared_.contains(slot) || all_of(slot->users(), [&](User* user) {
                          return inside_.contains(cast<Instruction>(user));
                        });
    if (regions.size() > 1 && only_regions && !slot->getName().starts_with("exn.slot") &&
        !slot->getName().starts_with("ehselector.slot") && !slot->getName().starts_with("cleanup.dest"))
      shared_.insert(slot);
  }
}

} // namespace rdb::extractor
