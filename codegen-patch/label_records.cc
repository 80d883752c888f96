// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/label_records.h"

#include "codegen-patch/spots.h"

#include "llvm/CodeGen/MachineBasicBlock.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"

namespace rdb::codegen {

using namespace llvm;

namespace {

bool has_register(const MachineInstr& record) {
  return any_of(record.debug_operands(),
                [](const MachineOperand& operand) { return operand.isReg() && operand.getReg(); });
}

bool is_overwritten(const MachineInstr& record, const MachineInstr& by, const TargetRegisterInfo* registers) {
  return any_of(record.debug_operands(), [&](const MachineOperand& operand) {
    return operand.isReg() && operand.getReg() && by.modifiesRegister(operand.getReg(), registers);
  });
}

// The records in force while a block is walked.
class Live {
public:
  using Records = std::map<LabelRecords::VariableAt, std::vector<const MachineInstr*>>;

  explicit Live(const TargetRegisterInfo* registers) : registers_(registers) {}

  void note(const MachineInstr& record) {
    auto& records = by_name_[record.getDebugVariable()->getName()]
                            [{record.getDebugVariable(), record.getDebugLoc()->getInlinedAt()}];
    auto fragment = record.getDebugExpression()->getFragmentInfo();
    std::erase_if(records, [&](const MachineInstr* other) {
      auto other_fragment = other->getDebugExpression()->getFragmentInfo();
      return !fragment || !other_fragment || DIExpression::fragmentsOverlap(*fragment, *other_fragment);
    });
    records.push_back(&record);
    if (has_register(record)) in_registers_.push_back(&record);
  }

  void pass(const MachineInstr& code) {
    std::erase_if(in_registers_, [&](const MachineInstr* record) {
      if (!is_overwritten(*record, code, registers_)) return false;
      auto group = by_name_.find(record->getDebugVariable()->getName());
      std::erase(group->second[{record->getDebugVariable(), record->getDebugLoc()->getInlinedAt()}], record);
      return true;
    });
  }

  void add_to(Records& result, StringRef name) const {
    if (auto group = by_name_.find(name); group != by_name_.end())
      result.insert(group->second.begin(), group->second.end());
  }

private:
  const TargetRegisterInfo* registers_;
  std::map<StringRef, Records> by_name_;
  std::vector<const MachineInstr*> in_registers_;
};

} // namespace

LabelRecords::LabelRecords(const MachineFunction& function, const Wanted& wanted) {
  for (const MachineBasicBlock& block : function)
    look_at(block, wanted);
}

void LabelRecords::look_at(const MachineBasicBlock& block, const Wanted& wanted) {
  Live live(block.getParent()->getSubtarget().getRegisterInfo());
  std::vector<const MachineInstr*> labels; // since the last instruction
  auto settle = [&] {
    for (const MachineInstr* label : labels)
      for (const std::string& name : wanted(*label))
        live.add_to(at_[label], name);
    labels.clear();
  };
  for (const MachineInstr& instruction : block) {
    if (instruction.isDebugLabel()) labels.push_back(&instruction);
    if (instruction.isDebugValue()) {
      live.note(instruction);
    } else if (is_code(instruction)) {
      settle();
      live.pass(instruction);
    }
  }
  settle();
}

const LabelRecords::Records& LabelRecords::at(const MachineInstr& label) const {
  static const Records none;
  auto found = at_.find(&label);
  return found == at_.end() ? none : found->second;
}

} // namespace rdb::codegen
