// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/inverted.h"

#include "codegen-patch/debug_names.h"
#include "codegen-patch/records.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"

#include <set>

namespace rdb::codegen {

using namespace llvm;

// One that goes on with the lowest bit alone can be told the opposite; of others nothing is known any more.
static void invert(DbgVariableRecord& record, const Value& comparison) {
  const DIExpression* expression = record.getExpression();
  bool is_plain = record.getNumVariableLocationOps() == 1 && record.getVariableLocationOp(0) == &comparison;
  bool takes_bit = expression->getNumElements() > 1 &&
                   expression->getElement(0) == dwarf::DW_OP_LLVM_convert && expression->getElement(1) == 1;
  SmallVector<uint64_t, 1> opposite{dwarf::DW_OP_not};
  if (is_plain && takes_bit)
    record.setExpression(DIExpression::prependOpcodes(expression, opposite));
  else
    record.setKillLocation();
}

void Inverted::before(Function& function) {
  comparisons_.clear();
  std::set<const Value*> seen;
  for (DbgVariableRecord* record : value_records_of(function))
    for (Value* value : record->location_ops())
      if (auto* comparison = dyn_cast<CmpInst>(value); comparison && seen.insert(value).second)
        comparisons_.emplace_back(comparison, comparison->getPredicate());
}

void Inverted::after(StringRef pass, Function& function) {
  std::set<const Value*> inverted;
  for (const auto& [handle, predicate] : comparisons_)
    if (const auto* comparison = dyn_cast_or_null<CmpInst>(static_cast<Value*>(handle));
        comparison && comparison->getPredicate() == CmpInst::getInversePredicate(predicate))
      inverted.insert(comparison);
  comparisons_.clear();
  if (inverted.empty()) return;
  for (DbgVariableRecord* record : value_records_of(function))
    for (const Value* comparison : inverted)
      if (is_contained(record->location_ops(), comparison)) {
        if (is_traced())
          fmt::print(stderr, "rdb: {} turns '{}' around in {}\n", pass.str(),
                     record->getVariable()->getName().str(), function.getName().str());
        invert(*record, *comparison);
        break;
      }
}

} // namespace rdb::codegen
