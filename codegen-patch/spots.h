// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where in the machine code a label is, by an instruction and a side of it. A place must be exact for its
// path: a label at the end of a block whose code goes on in a block that others reach too is a place *after*
// an instruction, not before one; and one in a block that has no code at all is at the end of each block that
// leads there.
#pragma once

#include "descriptors/descriptor.h"

#include "llvm/CodeGen/MachineBasicBlock.h"

#include <vector>

namespace llvm {
class BasicBlock;
class Function;
class MachineFunction;
class MachineInstr;
} // namespace llvm

namespace rdb::codegen {

bool is_code(const llvm::MachineInstr& instruction);

struct Spot {
  llvm::MachineInstr* instruction = nullptr;
  descriptors::Side side = descriptors::Side::before;
};

// A label, and the code next to it in its block; null: there is none.
struct LabelBesideCode {
  llvm::MachineInstr* label;
  llvm::MachineInstr* before = nullptr;
  llvm::MachineInstr* behind = nullptr;
};

// The labels of instances, in the order of the code.
std::vector<LabelBesideCode> find_labels(llvm::MachineFunction& function);

// Null: it has no place of its own.
Spot find_spot(const LabelBesideCode& label);

// Of a label in a block without code: all ends of the ways there, or none if one of them has no place of its
// own. Only of code whose blocks no pass has made one with others.
std::vector<Spot> find_spots_ahead(llvm::MachineInstr& label);

// Without optimisation the code of a block stands in the program's order. Gives it lines that tell, and
// labels too: the lines of debug locations, ahead of code generation.
void number_code(llvm::Function& function);

} // namespace rdb::codegen
