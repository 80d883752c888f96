// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/spots.h"

#include "codegen-patch/debug_names.h"

#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instruction.h"

#include <iterator>
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

} // namespace

std::vector<LabelBesideCode> find_labels(MachineFunction& function) {
  std::vector<LabelBesideCode> labels;
  for (MachineBasicBlock& block : function) {
    MachineInstr* before = nullptr;
    size_t waiting = labels.size(); // for the code after them
    for (MachineInstr& instruction : block)
      if (is_code(instruction)) {
        for (; waiting < labels.size(); ++waiting)
          labels[waiting].behind = &instruction;
        before = &instruction;
      } else if (instruction.isDebugLabel() && parse_instance(instruction.getDebugLabel()->getName())) {
        labels.push_back({&instruction, before});
      }
  }
  return labels;
}

Spot find_spot(const LabelBesideCode& label) {
  if (label.behind) return {label.behind};
  MachineBasicBlock* block = label.label->getParent();
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
  if (label.before) return {label.before, descriptors::Side::after};
  while (block->pred_size() == 1 && !block->hasAddressTaken()) {
    MachineBasicBlock* before = block_before(*block);
    if (!before) return {};
    if (MachineInstr* instruction = last_code(*before)) return {instruction, descriptors::Side::after};
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
        spots.push_back({last, descriptors::Side::after});
      else if (!falls && last->isUnconditionalBranch() && branches_to(*from, block) == 1)
        spots.push_back({last});
      else
        return {};
    }
  }
  return spots;
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
