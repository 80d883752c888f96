// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes that remove blocks do not ask what debug records stand there: a block that holds nothing else is
// empty to them. A record that goes with code which is never run is no loss; one that was passed on the way
// through code that stays is. So around such a pass the ways are compared that lead from the blocks which
// stay to a record: where it came next it must come next still, unless it shows that this way is never gone;
// and where there was no way past it there must be none. One that could come again behind itself must do so
// still, unless that does not matter.
#pragma once

#include "llvm/IR/ValueHandle.h"

#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace llvm {
class BasicBlock;
class DbgRecord;
class DILocation;
class Function;
class MDNode;
} // namespace llvm

namespace rdb::codegen {

// The blocks that can be reached, as far as conditions are known.
std::set<const llvm::BasicBlock*> reachable_blocks(const llvm::Function& function);

class DroppedRecords {
public:
  // A label or a variable, the copy of its function, and a number: each record gets one before the pass, as
  // the line of its debug location. Afterwards those that the pass has copied share theirs.
  using Key = std::tuple<const llvm::MDNode*, const llvm::DILocation*, unsigned>;
  static Key key_of(const llvm::DbgRecord& record);

  // Around a pass, which may replace code by other code or not. Afterwards: of each record that was dropped
  // the blocks, null for the function's entry, from which it does not come next any more; null as well for
  // one that does not come again, if such turns are counted.
  using Blocks = std::set<const llvm::BasicBlock*>;
  enum class Code { kStays, kIsReplaced };
  enum class Turns { kCount, kDoNotMatter };
  void before(llvm::Function& function, bool (*is_wanted)(const llvm::DbgRecord&), Code code, Turns turns);
  std::map<Key, Blocks> after(const llvm::Function& function,
                              const std::function<bool(const Key&)>& is_asked = nullptr);

private:
  struct Shape {
    const llvm::BasicBlock* entry = nullptr;
    std::map<const llvm::BasicBlock*, Blocks> ways; // of the blocks that can be reached
    std::map<Key, Blocks> places;
    std::set<Key> doubled; // within a block
  };
  static Shape shape_of(const llvm::Function& function, bool (*is_wanted)(const llvm::DbgRecord&));
  // What comes behind a block, or behind the function's entry (null), up to the record and to the blocks that
  // `ends` says: is the record among it, and which blocks come without it? Null stands for the function's
  // end.
  struct Next {
    bool has_record = false;
    Blocks without;
  };
  template <class Ends>
  static Next next(const Shape& shape, const llvm::BasicBlock* from, const Blocks& places, const Ends& ends);
  // Can the record come again behind itself, with no block between that stays?
  bool comes_again(const Shape& shape, const Key& key) const;
  // The blocks that stay from which a record was reached, past those that went.
  Blocks blocks_ahead(const llvm::BasicBlock* place) const;
  // From each block that stays, the others to which there was no way but by one that stays, too.
  std::map<const llvm::BasicBlock*, Blocks> find_new_ways(const Shape& now) const;
  Blocks find_gaps(const Shape& now, const Key& key,
                   const std::map<const llvm::BasicBlock*, Blocks>& new_ways) const;

  bool (*is_wanted_)(const llvm::DbgRecord&) = nullptr;
  Turns turns_ = Turns::kDoNotMatter;
  Shape shape_;
  std::map<const llvm::BasicBlock*, Blocks> ways_to_;
  std::map<const llvm::BasicBlock*, llvm::WeakVH> handles_;            // null once a block is gone
  std::map<const llvm::BasicBlock*, llvm::WeakTrackingVH> conditions_; // that were not known
  Blocks kept_;                                                        // by code in them
  Blocks staying_;                                                     // after the pass
};

} // namespace rdb::codegen
