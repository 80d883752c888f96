// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mark of a write that the optimiser removed is all that tells of it. A block that holds nothing else is
// empty to the optimiser, and goes with the mark; the labels behind it stay. Such a mark is put back where
// the ways to its block began: there the write is due from then on, on each of them.
#pragma once

#include "codegen-patch/dropped_records.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/TrackingMDRef.h"
#include "llvm/IR/ValueHandle.h"

#include <utility>
#include <vector>

namespace llvm {
class DbgRecord;
class DIExpression;
} // namespace llvm

namespace rdb::codegen {

class LostMarks {
public:
  // kWithoutWrite: for passes that drop no block that is run, but may make other code of it, and then marks
  // whose write is gone are left behind.
  enum class Marks { kAll, kWithoutWrite };
  static bool is_mark(const llvm::DbgRecord& record);
  explicit LostMarks(Marks marks) : kind_(marks) {}

  // Around a pass over a function, or over a loop of it. `version`: of the code; see DroppedRecords.
  // Afterwards: were marks put back?
  void before(llvm::Function& function, unsigned version);
  bool after(llvm::StringRef pass, llvm::Function& function);

private:
  // What a mark is made of: a label, or the assignment of a variable.
  struct Mark {
    const llvm::MDNode* what;
    llvm::DebugLoc at;
    llvm::TrackingMDRef id;
    llvm::WeakTrackingVH value;
    llvm::WeakTrackingVH address;
    llvm::WeakTrackingVH base; // of the address, in case that it goes
    int64_t offset = 0;
    llvm::DIExpression* expression = nullptr;
    llvm::DIExpression* address_expression = nullptr;
  };
  static Mark take_down(const llvm::DbgRecord& record);
  static llvm::DbgRecord* make(const Mark& mark, llvm::LLVMContext& context);

  Marks kind_;
  const llvm::Function* function_ = nullptr;
  unsigned version_ = 0;
  DroppedRecords dropped_;
  const Mark* find(const DroppedRecords::Key& key) const;
  std::vector<std::pair<DroppedRecords::Key, Mark>> marks_; // in the order of their keys
};

} // namespace rdb::codegen
