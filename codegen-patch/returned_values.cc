// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An instruction is known by its place: each has a line of its own in its function (see WriteTags), and its
// copy says which call it was inlined for.
#include "codegen-patch/returned_values.h"

#include "codegen-patch/debug_names.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

#include <algorithm>

namespace rdb::codegen {

using namespace llvm;

namespace {

bool is_same_place(const DILocation& a, const DILocation& b) {
  return a.getLine() == b.getLine() && a.getScope() == b.getScope() && a.getInlinedAt() == b.getInlinedAt();
}

// Is it the copy of an instruction, at `inside` in its function, that was inlined for the call?
bool is_copy(const DILocation& at, const DILocation& inside, const DILocation& call) {
  const DILocation* further = at.getInlinedAt();
  if (at.getLine() != inside.getLine() || at.getScope() != inside.getScope() || !further) return false;
  return inside.getInlinedAt() ? is_copy(*further, *inside.getInlinedAt(), call)
                               : is_same_place(*further, call);
}

} // namespace

bool ReturnedValues::find_returned(const CallBase& call, Returned& returned) {
  const Function* callee = call.getCalledFunction();
  if (!callee || callee->isDeclaration() || callee->isInterposable()) return false;
  const ReturnInst* only = nullptr;
  for (const BasicBlock& block : *callee)
    if (const auto* end = dyn_cast<ReturnInst>(block.getTerminator())) {
      if (only) return false;
      only = end;
    }
  Value* value = only ? only->getReturnValue() : nullptr;
  if (!value) return false;
  if (auto* parameter = dyn_cast<Argument>(value)) {
    if (parameter->hasByValAttr()) return false;
    returned.value = call.getArgOperand(parameter->getArgNo());
    return true;
  }
  if (isa<Constant>(value)) {
    returned.value = value;
    return true;
  }
  const auto* computed = cast<Instruction>(value);
  returned.inside = computed->getDebugLoc();
  returned.call_place = call.getDebugLoc();
  returned.opcode = computed->getOpcode();
  auto is_at_its_place = [&](const Instruction& other) {
    const DILocation* at = other.getDebugLoc();
    return at && is_same_place(*at, *returned.inside);
  };
  return returned.inside && returned.call_place && returned.inside->getLine() != 0 &&
         std::ranges::count_if(instructions(*callee), is_at_its_place) == 1;
}

void ReturnedValues::before(const std::vector<Function*>& callers) {
  records_.clear();
  callers_.clear();
  for (Function* caller : callers)
    for (Instruction& instruction : instructions(*caller))
      for (DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange())) {
        if (record.isDbgDeclare() || record.isDbgAssign() || record.getNumVariableLocationOps() != 1 ||
            !is_variable_record(record.getVariable()->getName()))
          continue;
        auto* call = dyn_cast<CallBase>(record.getVariableLocationOp(0));
        if (!call || !call->use_empty()) continue;
        Returned returned{record.getVariable(), record.getDebugLoc(), record.getExpression(), call, {}};
        if (!find_returned(*call, returned)) continue;
        records_.emplace(&record, std::move(returned));
        if (!is_contained(callers_, caller)) callers_.emplace_back(caller);
      }
}

Value* ReturnedValues::find_inlined(Function& caller, const Returned& returned) {
  Value* found = nullptr;
  for (Instruction& instruction : instructions(caller)) {
    const DILocation* at = instruction.getDebugLoc();
    if (!at || !is_copy(*at, *returned.inside, *returned.call_place)) continue;
    if (found || instruction.getOpcode() != returned.opcode) return nullptr;
    found = &instruction;
  }
  return found;
}

void ReturnedValues::after() {
  for (const WeakVH& handle : callers_) {
    auto* caller = dyn_cast_or_null<Function>(static_cast<Value*>(handle));
    if (!caller || caller->isDeclaration()) continue;
    DominatorTree tree(*caller);
    for (Instruction& instruction : instructions(*caller))
      for (DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange())) {
        auto found = records_.find(&record);
        if (found == records_.end() || !record.isKillLocation()) continue;
        const Returned& returned = found->second;
        if (returned.call || record.getVariable() != returned.variable ||
            record.getDebugLoc().get() != returned.place || record.getExpression() != returned.expression)
          continue;
        Value* value =
            returned.inside ? find_inlined(*caller, returned) : static_cast<Value*>(returned.value);
        if (!value || isa<UndefValue>(value) ||
            (isa<Instruction>(value) && !tree.dominates(value, &instruction)))
          continue;
        record.setRawLocation(ValueAsMetadata::get(value));
      }
  }
  records_.clear();
  callers_.clear();
}

} // namespace rdb::codegen
