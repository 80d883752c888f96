// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/declared_slots.h"

#include "rdbtool/base/error.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/CommandLine.h"

namespace rdb::codegen {

using namespace llvm;

namespace {

cl::opt<bool>& lowering() {
  auto& options = cl::getRegisteredOptions();
  auto found = options.find("instcombine-lower-dbg-declare");
  if (found == options.end()) throw Bug("LLVM has no option instcombine-lower-dbg-declare");
  return *static_cast<cl::opt<bool>*>(found->second);
}

} // namespace

DeclaredSlots::DeclaredSlots() : lowered_(lowering()) {
  lowering().setValue(false);
}

DeclaredSlots::~DeclaredSlots() {
  lowering().setValue(lowered_);
}

DeclaredSlots::Declared DeclaredSlots::find(Function& function) {
  Declared declared;
  for (const Instruction& instruction : instructions(function))
    for (const DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange()))
      if (record.isDbgDeclare() && !record.isKillLocation())
        declared.insert({record.getVariable(), record.getDebugLoc().getInlinedAt()});
  return declared;
}

void DeclaredSlots::before(Function& function) {
  declared_ = find(function);
}

void DeclaredSlots::after(Function& function) {
  if (declared_.empty()) return;
  for (const auto& kept : find(function))
    declared_.erase(kept);
  if (declared_.empty()) return;
  for (Instruction& instruction : instructions(function))
    for (DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange()))
      if (declared_.contains({record.getVariable(), record.getDebugLoc().getInlinedAt()}))
        record.setKillLocation();
}

} // namespace rdb::codegen
