// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes that remove blocks do not ask what debug records stand there: a block that holds nothing else is
// empty to them. A record that goes with code which is never run is no loss; one that was passed on the way
// through code that stays is. So around such a pass the ways are compared that lead from the blocks which
// stay to a record: where it came next it must come next still, unless it shows that this way is never gone;
// and where there was no way past it there must be none. One that could come again behind itself must do so
// still, unless that does not matter.
#pragma once

#include "codegen-patch/ways.h"

#include "llvm/IR/ValueHandle.h"

#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace llvm {
class DbgRecord;
class DILocation;
class MDNode;
} // namespace llvm

namespace rdb::codegen {

class DroppedRecords {
public:
  // A number, a label or a variable, and the copy of its function: each record gets a number before the pass,
  // as the line of its debug location. Afterwards those that the pass has copied share theirs.
  using Key = std::tuple<unsigned, const llvm::MDNode*, const llvm::DILocation*>;
  static Key key_of(const llvm::DbgRecord& record);

  // Around a pass, which may replace code by other code or not. `version`: of the code; if that is still the
  // one of the pass before, what was found then holds. Afterwards: of each record that was dropped the
  // blocks, null for the function's entry, from which it does not come next any more; null as well for one
  // that does not come again, if such turns are counted.
  using Gaps = std::set<const llvm::BasicBlock*>;
  enum class Code { kStays, kIsReplaced };
  enum class Turns { kCount, kDoNotMatter };
  void before(llvm::Function& function, bool (*is_wanted)(const llvm::DbgRecord&), Code code, Turns turns,
              unsigned version);
  bool has_records() const { return !shape_.records.empty(); }
  std::map<Key, Gaps> after(const llvm::Function& function,
                            const std::function<bool(const Key&)>& is_asked = nullptr);

private:
  using Block = Ways::Block;
  using Blocks = std::set<Block>;
  using Records = std::vector<std::pair<Key, Block>>;
  struct Shape {
    Ways ways;
    Records records; // block by block
    Records sorted;  // by key; if they are asked for
    Blocks places(const Key& key) const;
    bool has_doubled(const Key& key) const; // within a block
  };
  Shape shape_of(Ways ways) const;
  // What comes behind a block up to the record and to the blocks that `ends` says: is the record among it,
  // and which blocks come without it?
  struct Next {
    bool has_record = false;
    std::vector<Block> without;
  };
  template <class Ends>
  Next next(const Shape& shape, Block from, const Blocks& places, const Ends& ends) const;
  // Can the record come again behind itself, with no block between that stays?
  bool comes_again(const Shape& shape, const Key& key) const;
  bool stays(Block block) const { return block < staying_.size() && staying_[block]; }
  // The blocks that stay from which a block was reached, past those that went.
  const std::vector<Block>& blocks_ahead(Block place);
  // From a block that stays, others to which there was no way but by one that stays, too. Those past which
  // such a way may lead now are among `passed`.
  struct NewWays {
    Blocks to;
    Blocks passed;
  };
  std::map<Block, NewWays> find_new_ways(const Shape& now) const;
  Gaps find_gaps(const Shape& now, const Key& key, const std::map<Block, NewWays>& new_ways);

  const llvm::Function* function_ = nullptr;
  unsigned version_ = 0;
  Code code_ = Code::kStays;
  bool (*is_wanted_)(const llvm::DbgRecord&) = nullptr;
  Turns turns_ = Turns::kDoNotMatter;
  Shape shape_;
  std::vector<llvm::WeakVH> handles_;            // of the blocks; null once one is gone
  std::vector<llvm::WeakTrackingVH> conditions_; // of the blocks; null if there was none, or a known one
  std::map<Block, llvm::WeakVH> kept_;           // by which code in them
  std::vector<bool> staying_;                    // after the pass; outside is there always
  std::vector<std::vector<Block>> ways_to_;      // the blocks, before the pass
  std::map<Block, std::vector<Block>> ahead_;    // what blocks_ahead has found
  mutable Walk walk_;
};

} // namespace rdb::codegen
