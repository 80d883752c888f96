// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/spots.h"

#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instruction.h"

#include <iterator>
#include <optional>
#include <set>

namespace rdb::codegen {

using namespace llvm;

bool is_code(const MachineInstr& instruction) {
  return !instruction.isMetaInstruction() && !instruction.isPosition();
}

namespace {

MachineInstr* last_code(MachineBasicBlock& block) {
  for (MachineInstr& instruction : llvm::reverse(block))
    if (is_code(instruction)) return &instruction;
  return nullptr;
}

bool falls_into(MachineBasicBlock& from, const MachineBasicBlock& block) {
  return from.isLayoutSuccessor(&block) && from.isSuccessor(&block) && from.canFallThrough();
}

// The block that control falls from into `block`, if it does.
MachineBasicBlock* block_before(MachineBasicBlock& block) {
  if (block.getIterator() == block.getParent()->begin()) return nullptr;
  MachineBasicBlock& before = *std::prev(block.getIterator());
  return falls_into(before, block) ? &before : nullptr;
}

// How many branches of `from` name the block? One by a table counts too.
unsigned branches_to(const MachineBasicBlock& from, const MachineBasicBlock& block) {
  unsigned count = 0;
  for (const MachineInstr& branch : from.terminators())
    count += branch.isIndirectBranch() || any_of(branch.operands(), [&](const MachineOperand& operand) {
               return operand.isMBB() && operand.getMBB() == &block;
             });
  return count;
}

unsigned line_of(const MachineInstr& instruction) {
  const DILocation* at =
      is_code(instruction) || instruction.isDebugLabel() ? instruction.getDebugLoc().get() : nullptr;
  return at ? at->getLine() : 0;
}

// Can one tell whether it was executed, without optimisation? Variables are in memory then.
bool has_effect(const MachineInstr& instruction) {
  return instruction.mayStore() || instruction.isCall() || instruction.isTerminator() ||
         instruction.hasUnmodeledSideEffects() || instruction.isDebugLabel();
}

} // namespace

Spot find_spot(MachineInstr& label) {
  MachineBasicBlock* block = label.getParent();
  for (auto next = std::next(label.getIterator()); next != block->end(); ++next)
    if (is_code(*next)) return {&*next};
  // At the end of its block: into the next one, as long as nobody else comes in there.
  for (MachineBasicBlock* from = block;;) {
    auto next = std::next(from->getIterator());
    if (next == from->getParent()->end() || !from->isSuccessor(&*next)) break;
    if (next->pred_size() != 1 || next->hasAddressTaken()) break;
    for (MachineInstr& instruction : *next)
      if (is_code(instruction)) return {&instruction};
    from = &*next;
  }
  // Else after what comes before it: in its own block, or in the one that falls into it if nobody else does.
  for (auto before = label.getIterator(); before != block->begin();) {
    --before;
    if (is_code(*before)) return {&*before, descriptors::Side::kAfter};
  }
  while (block->pred_size() == 1 && !block->hasAddressTaken()) {
    MachineBasicBlock* before = block_before(*block);
    if (!before) return {};
    if (MachineInstr* instruction = last_code(*before)) return {instruction, descriptors::Side::kAfter};
    block = before;
  }
  return {};
}

std::vector<Spot> find_spots_ahead(MachineInstr& label) {
  if (last_code(*label.getParent())) return {};
  std::vector<Spot> spots;
  std::set<const MachineBasicBlock*> seen;
  std::vector<MachineBasicBlock*> work{label.getParent()};
  while (!work.empty()) {
    MachineBasicBlock& block = *work.back();
    work.pop_back();
    if (!seen.insert(&block).second) continue;
    if (block.pred_empty() || block.hasAddressTaken() || block.isEHPad()) return {};
    for (MachineBasicBlock* from : block.predecessors()) {
      MachineInstr* last = last_code(*from);
      bool falls = falls_into(*from, block);
      if (!last)
        work.push_back(from);
      else if (falls && branches_to(*from, block) == 0)
        spots.push_back({last, descriptors::Side::kAfter});
      else if (!falls && last->isUnconditionalBranch() && branches_to(*from, block) == 1)
        spots.push_back({last});
      else
        return {};
    }
  }
  return spots;
}

std::optional<MachineBasicBlock::iterator> find_place(MachineBasicBlock& code, unsigned place) {
  // The last instruction ahead of it and the first one behind it, of all and of those that do something.
  struct Gap {
    MachineInstr* before = nullptr;
    MachineInstr* behind = nullptr;
    bool is_open = true; // nothing that should follow comes first
  } all, effects;
  for (MachineInstr& instruction : code) {
    unsigned line = line_of(instruction);
    for (Gap* gap : {&all, &effects}) {
      if (line == 0 || (gap == &effects && !has_effect(instruction))) continue;
      if (line < place) {
        gap->before = &instruction;
        gap->is_open &= !gap->behind;
      } else if (!gap->behind) {
        gap->behind = &instruction;
      }
    }
  }
  const Gap& gap = all.is_open ? all : effects;
  if (!gap.is_open) return std::nullopt;
  if (gap.before) return std::next(gap.before->getIterator());
  return gap.behind ? gap.behind->getIterator() : code.getFirstTerminator();
}

MachineBasicBlock* find_code(MachineFunction& function, const BasicBlock& block, unsigned place) {
  MachineBasicBlock* found = nullptr;
  for (MachineBasicBlock& code : function)
    if (code.getBasicBlock() == &block)
      if (!found || any_of(code, [&](const MachineInstr& instruction) {
            unsigned line = line_of(instruction);
            return line != 0 && line < place;
          }))
        found = &code;
  return found;
}

void number_code(Function& function) {
  unsigned line = 1;
  auto next_line = [&] {
    return DILocation::get(function.getContext(), ++line, 0, function.getSubprogram());
  };
  for (Instruction& instruction : instructions(function)) {
    for (DbgRecord& record : instruction.getDbgRecordRange())
      if (isa<DbgLabelRecord>(record)) record.setDebugLoc(next_line());
    instruction.setDebugLoc(next_line());
  }
}

} // namespace rdb::codegen
