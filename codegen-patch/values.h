// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a debug record of machine code to a descriptor of where the value is.
#pragma once

#include "descriptors/descriptor.h"

namespace llvm {
class DIExpression;
class MachineFunction;
class MachineInstr;
} // namespace llvm

namespace rdb::codegen {

// The part that a DBG_VALUE describes, of a variable of `size` bytes. Anything that is not understood
// exactly is unavailable.
descriptors::Part part_of_record(const llvm::MachineInstr& record, uint64_t size);

// A variable that lives in a stack slot all the time; `expression` leads from the slot to it.
descriptors::Part part_of_slot(const llvm::MachineFunction& function, int slot,
                               const llvm::DIExpression& expression, uint64_t size);

// The frame's CFA once the frame is set up, as register + offset (an activation part without its id).
descriptors::Part part_of_frame(const llvm::MachineFunction& function);

} // namespace rdb::codegen
