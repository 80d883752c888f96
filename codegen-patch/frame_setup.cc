// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/frame_setup.h"

#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

#include <set>
#include <vector>

namespace rdb::codegen {

using namespace llvm;

namespace {

enum class Change { kNone, kSetUp, kDestroyed };

Change change_by(const MachineInstr& instruction) {
  if (instruction.isMetaInstruction() || instruction.isPosition()) return Change::kNone;
  if (instruction.getFlag(MachineInstr::FrameSetup)) return Change::kSetUp;
  return instruction.getFlag(MachineInstr::FrameDestroy) ? Change::kDestroyed : Change::kNone;
}

// Of a range of instructions the last one counts: a setup takes several.
Change last_change(MachineBasicBlock::const_iterator begin, MachineBasicBlock::const_iterator end) {
  Change last = Change::kNone;
  for (; begin != end; ++begin)
    if (Change change = change_by(*begin); change != Change::kNone) last = change;
  return last;
}

} // namespace

FrameSetup::FrameSetup(const MachineFunction& function) {
  // Before it is set up, or behind its end.
  std::vector<const MachineBasicBlock*> work{&function.front()};
  std::set<const MachineBasicBlock*> setting_up;
  for (const MachineBasicBlock& block : function) {
    Change change = last_change(block.begin(), block.end());
    is_needed_ |= change != Change::kNone;
    if (change == Change::kSetUp) setting_up.insert(&block);
    if (change == Change::kDestroyed) work.insert(work.end(), block.succ_begin(), block.succ_end());
  }
  while (!work.empty()) {
    const MachineBasicBlock* block = work.back();
    work.pop_back();
    if (!without_.insert(block).second || setting_up.contains(block)) continue;
    work.insert(work.end(), block->succ_begin(), block->succ_end());
  }
  for (const MachineBasicBlock& block : function)
    look_at(block);
}

void FrameSetup::look_at(const MachineBasicBlock& block) {
  const MachineFunction& function = *block.getParent();
  const TargetRegisterInfo* registers = function.getSubtarget().getRegisterInfo();
  Register stack = function.getSubtarget().getTargetLowering()->getStackPointerRegisterToSaveRestore();
  bool is_done = !is_needed_ || !without_.contains(&block);
  // Has an argument of a call been pushed that is still on the stack? The code after a call takes it off.
  bool has_pushed = false;
  std::vector<const MachineInstr*> labels;
  for (const MachineInstr& instruction : block) {
    if (instruction.isDebugLabel() && is_done && !has_pushed) labels.push_back(&instruction);
    Change change = change_by(instruction);
    if (change == Change::kNone) {
      if (!instruction.isCall() && instruction.modifiesRegister(stack, registers))
        has_pushed = instruction.mayStore();
      continue;
    }
    // A place ahead of a setup is in the middle of it, perhaps.
    if (change == Change::kSetUp) labels.clear();
    has_pushed = false;
    is_done = change == Change::kSetUp;
  }
  with_frame_.insert(labels.begin(), labels.end());
}

} // namespace rdb::codegen
