// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/stale_slots.h"

#include "codegen-patch/debug_names.h"
#include "codegen-patch/reach.h"
#include "codegen-patch/record_flow.h"
#include "codegen-patch/records.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

#include <map>
#include <vector>

namespace rdb::codegen {

using namespace llvm;

namespace {

// Some bits of a variable that are in memory still.
struct Slot {
  const AllocaInst* memory;
  Extent bits;
  bool is_whole;      // it is all of the variable
  bool is_pointed_to; // in the source; who has the address may have gone since
};

// The variables that are in memory still, by name and copy of their function.
using Declared = std::map<std::pair<std::string, const DILocation*>, std::vector<Slot>>;

Declared find_declared(const Function& function) {
  Declared declared;
  EscapingSlots escaping;
  for (const Instruction& instruction : instructions(function))
    for (const DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange())) {
      if (!record.isDbgDeclare() || record.isKillLocation()) continue;
      auto* slot = dyn_cast<AllocaInst>(getUnderlyingObject(record.getVariableLocationOp(0), 0));
      bool is_pointed_to = record.getVariable()->isArtificial();
      // One that holds a single value, and is written to by its name, leaves memory before anything is moved.
      if (!slot || (is_simple_slot(slot, escaping) && !is_pointed_to)) continue;
      Piece piece = piece_of(record);
      declared[{record.getVariable()->getName().str(), record.getDebugLoc().getInlinedAt()}].push_back(
          {slot,
           {piece.offset, piece.offset + piece.size},
           !record.getExpression()->isFragment(),
           is_pointed_to});
    }
  return declared;
}

// Can the write change this stack slot at all?
bool may_write(const Target& target, const Slot& declared) {
  const AllocaInst& slot = *declared.memory;
  const DILocation* home = slot.getDebugLoc();
  switch (target.kind) {
  case Target::Kind::kGlobal:
    return false;
  case Target::Kind::kVariable:
    // The copy of a parameter that inlining made has no home; its writes are those to the parameter.
    return home && home->getLine() == target.slot && home->getScope()->getSubprogram() == target.scope &&
           home->getInlinedAt() == target.inlined_at && may_touch(target, declared.bits);
  case Target::Kind::kUnknown:
    return target.pointer || !home || declared.is_pointed_to || slot_escapes(slot);
  }
  return true;
}

} // namespace

void StaleSlots::find(Function& function) {
  stale_.clear();
  Declared declared = find_declared(function);
  if (declared.empty()) return;
  std::map<DbgLabelRecord*, std::map<size_t, const std::vector<Slot>*>> slots; // by label and position
  std::vector<DbgLabelRecord*> labels;
  for (Instruction& instruction : instructions(function))
    for (DbgRecord& record : instruction.getDbgRecordRange()) {
      auto* label = dyn_cast<DbgLabelRecord>(&record);
      auto index = label ? parse_label(label->getLabel()->getName()) : std::nullopt;
      if (!index) continue;
      const std::vector<extractor::Variable>& variables = extraction_.functions[*index].variables;
      for (size_t position = 0; position < variables.size(); ++position)
        if (auto slot = declared.find(
                {variable_record_name(variables[position]), label->getDebugLoc().getInlinedAt()});
            slot != declared.end())
          slots[label][position] = &slot->second;
      if (slots.contains(label)) labels.push_back(label);
    }
  if (labels.empty()) return;
  WriteTags::MovedAt moved = tags_.find_moved(function, labels);
  AliasQueries queries(function);
  for (DbgLabelRecord* label : labels) {
    const std::vector<Target>& targets = moved[label].stale;
    const std::vector<extractor::Variable>& variables =
        extraction_.functions[*parse_label(label->getLabel()->getName())].variables;
    for (const auto& [position, parts] : slots[label])
      for (const Slot& slot : *parts)
        for (Target target : targets) {
          if (!may_write(target, slot)) continue;
          Reach memory{slot.is_whole ? slot.memory : nullptr, nullptr, &variables[position]};
          if (!slot.is_whole) memory.parts = {{slot.memory, {slot.bits.begin / 8, slot.bits.end / 8}}};
          queries.spare(target, {memory});
          if ((target.spares_own & 1) != 0) continue;
          stale_[{label, position}].push_back(slot.bits);
          if (is_traced())
            fmt::print(stderr, "rdb: {} in {}: '{}' leaves memory when it is stale: {}\n",
                       label->getLabel()->getName().str(), function.getName().str(), variables[position].name,
                       target.note);
          break;
        }
  }
}

bool StaleSlots::contains(const DbgLabelRecord& label, size_t position, const Extent& bits) const {
  auto found = stale_.find({&label, position});
  return found != stale_.end() &&
         any_of(found->second, [&](const Extent& stale) { return stale.overlaps(bits); });
}

} // namespace rdb::codegen
