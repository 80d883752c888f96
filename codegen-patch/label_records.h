// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The debug records of machine code that are in force at each label: those before it in its block whose
// registers still hold, and those right at it. Found for all labels of a function in one walk; a block may
// have thousands of labels.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace llvm {
class DILocalVariable;
class DILocation;
class MachineBasicBlock;
class MachineFunction;
class MachineInstr;
} // namespace llvm

namespace rdb::codegen {

class LabelRecords {
public:
  // A variable in one inlined copy of its function.
  using VariableAt = std::pair<const llvm::DILocalVariable*, const llvm::DILocation*>;
  // Names of variables that matter at a label.
  using Wanted = std::function<std::vector<std::string>(const llvm::MachineInstr& label)>;

  LabelRecords(const llvm::MachineFunction& function, const Wanted& wanted);

  const std::map<VariableAt, std::vector<const llvm::MachineInstr*>>&
  at(const llvm::MachineInstr& label) const;

private:
  void look_at(const llvm::MachineBasicBlock& block, const Wanted& wanted);

  using Records = std::map<VariableAt, std::vector<const llvm::MachineInstr*>>;
  std::map<const llvm::MachineInstr*, Records> at_;
};

} // namespace rdb::codegen
