// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stack slots are known by their distance from the stack pointer (or frame pointer) once the frame is set up.
// The compiler sets it up where it is needed first, which need not be at the function's entry, and arguments
// that are pushed for a call change the stack pointer for a while.
#pragma once

#include <set>

namespace llvm {
class MachineBasicBlock;
class MachineFunction;
class MachineInstr;
} // namespace llvm

namespace rdb::codegen {

class FrameSetup {
public:
  explicit FrameSetup(const llvm::MachineFunction& function);

  // Is the stack frame set up at this label of the machine code, on every path to it?
  bool is_done_at(const llvm::MachineInstr& label) const { return with_frame_.contains(&label); }

private:
  void look_at(const llvm::MachineBasicBlock& block);

  bool is_needed_ = false;
  std::set<const llvm::MachineBasicBlock*> without_; // blocks that are reached without a frame
  std::set<const llvm::MachineInstr*> with_frame_;   // labels
};

} // namespace rdb::codegen
