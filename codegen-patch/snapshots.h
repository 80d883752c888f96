// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The optimiser keeps one record of a variable where several follow each other with no instruction between:
// the last one. A label is no instruction. So the value that a region sees, assigned right before its label,
// would go if another one is assigned right behind it. Therefore a label gets records of its own as soon as a
// variable is no longer in memory: under names that no assignment of the program has.
#pragma once

#include "codegen-patch/record_flow.h"
#include "codegen-patch/stale_slots.h"
#include "llvm-passes/extractor/extraction.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace llvm {
class DbgLabelRecord;
class DILocalScope;
class DILocalVariable;
class Instruction;
} // namespace llvm

namespace rdb::codegen {

class Snapshots {
public:
  Snapshots(const extractor::Extraction& extraction, const WriteTags& tags)
      : extraction_(extraction), stale_(extraction, tags) {}

  // Around a pass that may take variables out of memory, and clean up its records itself then.
  void before(llvm::Function& function);
  void after(llvm::Function& function);

  // The variable that stands for an argument of a region at its labels.
  static std::string name(size_t function, size_t position);

  // The records of snapshots that hold at a label which stands beside a copy of itself; elsewhere those hold
  // that reach it.
  static std::optional<PieceRecords> beside_copies(llvm::DbgLabelRecord& label);

private:
  using Copy = std::tuple<const llvm::Function*, const llvm::DILocation*, size_t, size_t>;

  // The variables of the optimiser's records, by their names and the function that they are of.
  using Variables =
      std::map<std::pair<llvm::StringRef, const llvm::DILocalScope*>, std::set<const llvm::DILocalVariable*>>;

  // The values, by now, of some bits of an argument.
  void take(llvm::DbgLabelRecord& label, size_t position, const Extent& bits, const PieceRecords& reaching,
            const Variables& variables) const;

  const extractor::Extraction& extraction_;
  StaleSlots stale_;
  std::vector<llvm::Instruction*> barriers_;
  std::map<Copy, std::vector<Extent>> taken_; // bits
};

} // namespace rdb::codegen
