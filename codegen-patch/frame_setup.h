// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stack slots are known by their distance from the stack pointer (or frame pointer) once the frame is set up.
// The compiler sets it up where it is needed first, which need not be at the function's entry, and arguments
// that are pushed for a call change the stack pointer for a while.
#pragma once

namespace llvm {
class MachineInstr;
} // namespace llvm

namespace rdb::codegen {

// Is the stack frame set up at this place of the machine code, on every path to it?
bool has_frame(const llvm::MachineInstr& place);

} // namespace rdb::codegen
