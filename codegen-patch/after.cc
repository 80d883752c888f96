// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// After optimisation, before instruction selection: what was lost on the way is told, labels and values are
// frozen where they are, and of the rest nothing may reach code generation.
#include "codegen-patch/debug_names.h"
#include "codegen-patch/placement.h"
#include "codegen-patch/records.h"

#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

#include <set>

namespace rdb::codegen {

namespace {

using namespace llvm;

// Code generation would look for variables in assignments, of which there are none left.
void erase_flag(Module& module) {
  NamedMDNode* flags = module.getModuleFlagsMetadata();
  if (!flags) return;
  std::vector<MDNode*> kept;
  for (MDNode* flag : flags->operands())
    if (cast<MDString>(flag->getOperand(1))->getString() != kAssignmentsFlag) kept.push_back(flag);
  flags->clearOperands();
  for (MDNode* flag : kept)
    flags->addOperand(flag);
}

bool has_record(const Function& function, bool (*is_wanted)(StringRef)) {
  return any_of(instructions(function), [&](const Instruction& instruction) {
    return any_of(instruction.getDbgRecordRange(),
                  [&](const DbgRecord& record) { return is_wanted(name_of(record)); });
  });
}

bool is_region(StringRef name) {
  return parse_label(name).has_value();
}

bool is_region_or_astray(StringRef name) {
  return region_of_label(name).has_value();
}

// Leaves of the records those that tell of calls: their marks, and one of each copy of a function.
void keep_calls(Function& function) {
  std::set<const DILocation*> copies;
  for (Instruction& instruction : instructions(function)) {
    instruction.setMetadata(LLVMContext::MD_DIAssignID, nullptr);
    for (DbgRecord& record : make_early_inc_range(instruction.getDbgRecordRange())) {
      const DILocation* copy = record.getDebugLoc().getInlinedAt();
      if (!CallMarks::is_mark(name_of(record)) && !(copy && copies.insert(copy).second))
        record.eraseFromParent();
    }
  }
}

} // namespace

void Placement::after_inlining(Module& module) {
  for (Function& function : module) {
    if (function.isDeclaration() || has_record(function, is_region_or_astray)) continue;
    if (has_record(function, CallMarks::is_mark))
      keep_calls(function);
    else
      stripDebugInfo(function);
  }
}

void Placement::after_optimisation(Module& module) {
  DIBuilder builder(module, /*AllowUnresolved=*/false);
  std::set<size_t> left_out = calls_.left_out_at_start(module);
  for (const Function& function : module)
    if (!function.isDeclaration()) left_out.merge(calls_.left_out(function, inlining_));
  for (size_t region : left_out)
    lost_.push_back({region, "the optimiser left out calls that lead to it"});
  for (size_t region : dropped_)
    lost_.push_back({region, "the optimiser left no place for it on some paths"});
  for (Function& function : module) {
    if (function.isDeclaration()) continue;
    for (const Instruction& instruction : instructions(function))
      for (const DbgRecord& record : instruction.getDbgRecordRange())
        if (auto astray = parse_astray(name_of(record)))
          lost_.push_back({*astray, "its code became one with that of another path"});
    if (has_record(function, is_region))
      freeze(function, builder);
    else
      stripDebugInfo(function);
  }
  builder.finalize();
  erase_flag(module);
  // Without a compile unit nothing is written for debuggers, and unwind tables stay as they would be.
  if (NamedMDNode* units = module.getNamedMetadata("llvm.dbg.cu")) units->eraseFromParent();
}

} // namespace rdb::codegen
