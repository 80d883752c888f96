// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen-patch/record_flow.h"

#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"

#include <optional>

namespace rdb::codegen {

using namespace llvm;

Piece piece_of(const DbgVariableRecord& record) {
  Piece piece{record.getVariable(), record.getDebugLoc().getInlinedAt(), 0,
              record.getVariable()->getSizeInBits().value_or(0)};
  if (auto fragment = record.getExpression()->getFragmentInfo()) {
    piece.offset = fragment->OffsetInBits;
    piece.size = fragment->SizeInBits;
  }
  return piece;
}

bool same_value(const DbgVariableRecord& a, const DbgVariableRecord& b) {
  return a.getRawLocation() == b.getRawLocation() && a.getExpression() == b.getExpression();
}

void update(PieceRecords& state, const DbgVariableRecord& record) {
  Piece piece = piece_of(record);
  auto next = state.lower_bound({piece.variable, piece.inlined_at, 0, 0});
  while (next != state.end() && next->first.variable == piece.variable &&
         next->first.inlined_at == piece.inlined_at) {
    const Piece& other = next->first;
    bool overlaps = other.offset < piece.offset + piece.size && piece.offset < other.offset + other.size;
    next = overlaps ? state.erase(next) : std::next(next);
  }
  state[piece] = &record;
}

std::map<const BasicBlock*, PieceRecords> reaching_records(Function& function, StringRef prefix) {
  std::map<const BasicBlock*, PieceRecords> in;
  std::map<const BasicBlock*, std::optional<PieceRecords>> out;
  bool changed = true;
  while (changed) {
    changed = false;
    for (BasicBlock& block : function) {
      std::optional<PieceRecords> merged;
      for (const BasicBlock* before : predecessors(&block)) {
        const std::optional<PieceRecords>& other = out[before];
        if (!other) continue; // not seen yet: no objection
        if (!merged) {
          merged = other;
          continue;
        }
        std::erase_if(*merged, [&](const auto& entry) {
          auto found = other->find(entry.first);
          return found == other->end() || !same_value(*entry.second, *found->second);
        });
      }
      if (!merged && !block.isEntryBlock()) continue; // its turn comes
      PieceRecords state = merged.value_or(PieceRecords());
      in[&block] = state;
      for (Instruction& instruction : block)
        for (const DbgVariableRecord& record : filterDbgVars(instruction.getDbgRecordRange()))
          if (!record.isDbgDeclare() && record.getVariable()->getName().starts_with(prefix))
            update(state, record);
      std::optional<PieceRecords>& result = out[&block];
      if (!result || *result != state) {
        result = std::move(state);
        changed = true;
      }
    }
  }
  return in;
}

} // namespace rdb::codegen
