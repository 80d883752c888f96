// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/ways.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

namespace {

struct GraphNode {
  std::vector<const GraphNode*> next;
};

} // namespace

template <>
struct llvm::GraphTraits<const GraphNode*> {
  using NodeRef = const GraphNode*;
  using ChildIteratorType = std::vector<const GraphNode*>::const_iterator;
  static NodeRef getEntryNode(NodeRef node) { return node; }
  static ChildIteratorType child_begin(NodeRef node) { return node->next.begin(); }
  static ChildIteratorType child_end(NodeRef node) { return node->next.end(); }
};

namespace rdb::codegen {

using namespace llvm;

bool has_effect(const Instruction& instruction) {
  auto* intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  return instruction.mayHaveSideEffects() &&
         !(intrinsic && (intrinsic->isAssumeLikeIntrinsic() || intrinsic->isLifetimeStartOrEnd()));
}

const Value* condition_of(const BasicBlock& block) {
  const Instruction* last = block.getTerminator();
  if (auto* branch = dyn_cast_or_null<BranchInst>(last))
    return branch->isConditional() ? branch->getCondition() : nullptr;
  auto* choice = dyn_cast_or_null<SwitchInst>(last);
  return choice ? choice->getCondition() : nullptr;
}

namespace {

// Nothing can be seen of a block that leads to nowhere: it is never run.
bool is_never_run(const BasicBlock& block) {
  return isa_and_nonnull<UnreachableInst>(block.getTerminator()) &&
         none_of(block, [](const Instruction& instruction) { return has_effect(instruction); });
}

SmallVector<const BasicBlock*, 2> ways_from(const BasicBlock& block) {
  const Instruction* last = block.getTerminator();
  const auto* known = dyn_cast_or_null<ConstantInt>(condition_of(block));
  if (auto* branch = dyn_cast_or_null<BranchInst>(last); branch && known)
    return {branch->getSuccessor(known->isZero() ? 1 : 0)};
  if (auto* choice = dyn_cast_or_null<SwitchInst>(last); choice && known)
    return {choice->findCaseValue(known)->getCaseSuccessor()};
  if (auto* call = dyn_cast_or_null<InvokeInst>(last); call && call->doesNotThrow())
    return {call->getNormalDest()};
  SmallVector<const BasicBlock*, 2> ways;
  for (const BasicBlock* next : successors(&block))
    if (!is_never_run(*next)) ways.push_back(next);
  return ways;
}

} // namespace

Ways::Ways(const Function& function, Numbers numbers, Block first_new) {
  blocks_.resize(first_new);
  ways_.resize(first_new);
  std::vector<const BasicBlock*> work;
  auto go_to = [&](Block from, const BasicBlock* next) {
    auto [number, is_new] = numbers.try_emplace(next, end());
    if (is_new) {
      blocks_.push_back(nullptr);
      ways_.emplace_back();
    }
    ways_[from].push_back(number->second);
    if (blocks_[number->second]) return;
    blocks_[number->second] = next;
    work.push_back(next);
  };
  go_to(kOutside, &function.getEntryBlock());
  while (!work.empty()) {
    const BasicBlock* block = work.back();
    work.pop_back();
    Block from = numbers.at(block);
    for (const BasicBlock* next : ways_from(*block))
      go_to(from, next);
    SmallVector<Block, 2>& ways = ways_[from];
    if (ways.empty()) ways.push_back(kOutside);
    sort(ways);
    ways.erase(unique(ways), ways.end());
  }
}

void Walk::start(const Ways& ways, Block from) {
  blocks_.clear();
  if (comes_from_.size() < ways.end()) {
    comes_from_.resize(ways.end());
    turn_of_.resize(ways.end());
  }
  ++turn_;
  add(ways, from);
}

void Walk::add(const Ways& ways, Block behind) {
  for (Block block : ways.from(behind)) {
    if (turn_of_[block] == turn_) continue;
    turn_of_[block] = turn_;
    comes_from_[block] = behind;
    blocks_.push_back(block);
  }
}

std::vector<bool> blocks_on_circles(const Ways& ways, function_ref<bool(Ways::Block)> is_asked) {
  std::vector<GraphNode> nodes(ways.end()); // that of outside leads to all others
  for (Ways::Block block = Ways::kOutside + 1; block < ways.end(); ++block) {
    if (!is_asked(block)) continue;
    nodes[Ways::kOutside].next.push_back(&nodes[block]);
    for (Ways::Block next : ways.from(block))
      if (next != Ways::kOutside && is_asked(next)) nodes[block].next.push_back(&nodes[next]);
  }
  std::vector<bool> result(ways.end());
  const GraphNode* outside = &nodes[Ways::kOutside];
  for (auto part = scc_begin(outside); !part.isAtEnd(); ++part)
    if (part.hasCycle())
      for (const GraphNode* node : *part)
        result[static_cast<size_t>(node - outside)] = true;
  return result;
}

std::set<const BasicBlock*> reachable_blocks(const Function& function) {
  Ways ways(function);
  std::set<const BasicBlock*> reached;
  for (Ways::Block block = Ways::kOutside + 1; block < ways.end(); ++block)
    reached.insert(ways.block(block));
  return reached;
}

} // namespace rdb::codegen
