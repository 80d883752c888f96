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

// Has an argument of a call been pushed that is still on the stack? What is behind a call takes it off.
bool has_pushed(const MachineInstr& place) {
  const MachineFunction& function = *place.getMF();
  const TargetRegisterInfo* registers = function.getSubtarget().getRegisterInfo();
  Register stack = function.getSubtarget().getTargetLowering()->getStackPointerRegisterToSaveRestore();
  const MachineBasicBlock& block = *place.getParent();
  for (auto before = place.getIterator(); before != block.begin();) {
    --before;
    if (change_by(*before) != Change::kNone) return false;
    if (before->isCall() || !before->modifiesRegister(stack, registers)) continue;
    return before->mayStore();
  }
  return false;
}

} // namespace

bool has_frame(const MachineInstr& place) {
  const MachineFunction& function = *place.getMF();
  const MachineBasicBlock& home = *place.getParent();
  if (has_pushed(place)) return false;
  bool is_needed = false;
  for (const MachineBasicBlock& block : function)
    is_needed |= last_change(block.begin(), block.end()) != Change::kNone;
  if (!is_needed) return true;
  // In the middle of it?
  for (auto next = place.getIterator(); next != home.end(); ++next)
    if (change_by(*next) == Change::kSetUp) return false;
  if (Change change = last_change(home.begin(), place.getIterator()); change != Change::kNone)
    return change == Change::kSetUp;
  // Is the block reached without a frame, before it is set up or behind its end?
  std::vector<const MachineBasicBlock*> work{&function.front()};
  for (const MachineBasicBlock& block : function)
    if (last_change(block.begin(), block.end()) == Change::kDestroyed)
      work.insert(work.end(), block.succ_begin(), block.succ_end());
  std::set<const MachineBasicBlock*> seen;
  while (!work.empty()) {
    const MachineBasicBlock* block = work.back();
    work.pop_back();
    if (block == &home) return false;
    if (!seen.insert(block).second || last_change(block->begin(), block->end()) == Change::kSetUp) continue;
    work.insert(work.end(), block->succ_begin(), block->succ_end());
  }
  return true;
}

} // namespace rdb::codegen
