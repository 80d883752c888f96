// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which debug records are in force at a place of the optimiser's code: those that all paths to it agree on.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <compare>
#include <cstdint>
#include <map>

namespace llvm {
class BasicBlock;
class DILocalVariable;
class DILocation;
class DbgVariableRecord;
class Function;
} // namespace llvm

namespace rdb::codegen {

// A piece of a variable in one inlined copy of its function.
struct Piece {
  const llvm::DILocalVariable* variable;
  const llvm::DILocation* inlined_at;
  uint64_t offset; // in bits
  uint64_t size;
  auto operator<=>(const Piece&) const = default;
};

Piece piece_of(const llvm::DbgVariableRecord& record);
bool same_value(const llvm::DbgVariableRecord& a, const llvm::DbgVariableRecord& b);

// The record of each piece.
using PieceRecords = std::map<Piece, const llvm::DbgVariableRecord*>;

// Takes up a record that comes next.
void update(PieceRecords& state, const llvm::DbgVariableRecord& record);

// At the begin of each block, of the variables whose names begin so; declarations do not count.
std::map<const llvm::BasicBlock*, PieceRecords> reaching_records(llvm::Function& function,
                                                                 llvm::StringRef prefix);

} // namespace rdb::codegen
