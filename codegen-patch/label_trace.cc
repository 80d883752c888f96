// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/label_trace.h"

#include "codegen-patch/debug_names.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"

namespace rdb::codegen {

using namespace llvm;

void LabelTrace::after(StringRef pass, const Function& function) {
  std::map<std::string, unsigned> now;
  for (const Instruction& instruction : instructions(function))
    for (const DbgRecord& record : instruction.getDbgRecordRange())
      if (auto* label = dyn_cast<DbgLabelRecord>(&record)) {
        if (parse_label(label->getLabel()->getName())) ++now[label->getLabel()->getName().str()];
      } else if (auto& variable = cast<DbgVariableRecord>(record);
                 !variable.isKillLocation() && variable.getVariable()->getName().starts_with(kSnapshotName)) {
        ++now[variable.getVariable()->getName().str()];
      }
  auto& before = labels_[&function];
  for (const auto& [name, count] : before)
    if (now[name] != count)
      fmt::print(stderr, "rdb: {} makes {} of {} copies of {} in {}\n", pass.str(), now[name], count, name,
                 function.getName().str());
  before = std::move(now);
}

} // namespace rdb::codegen
