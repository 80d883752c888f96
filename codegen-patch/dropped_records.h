// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes that remove blocks do not ask what debug records stand there: a block that holds nothing else is
// empty to them. A record that goes with code which is never run is no loss; one that was passed on the way
// through code that stays is. So around such a pass the ways are compared that lead from the blocks which
// stay to a record: where it came next it must come next still, unless it shows that this way is never gone;
// and where there was no way past it there must be none. One that could come again behind itself must do so
// still, unless that does not matter.
#pragma once

#include "codegen-patch/dominators.h"
#include "codegen-patch/ways.h"

#include "llvm/IR/ValueHandle.h"

#include <functional>
#include <map>
#include <optional>
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
    Records sorted;  // by key; of those after the pass
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
  bool stays(Block block) const { return block < staying_.size() && staying_[block]; }
  bool is_known(Block block) const; // which way it is left, after the pass

  // A record that may have been dropped: where it was and is, and what was found.
  struct Suspect {
    Key key;
    Block place;
    Blocks places_now;
    Gaps gaps;
    bool has_gained(Block block) const { return block != place && places_now.contains(block); }
  };
  bool is_suspect(const Shape& now, Suspect& record);
  // Could the record come again behind itself, with no block between that stays, and can it now?
  bool came_again(Block place);
  bool comes_again(const Shape& now, const Suspect& record) const;

  // What is known of the ways from a block that stays, for all records on them.
  struct Begin {
    Block block;
    std::optional<std::vector<Block>> after = {}; // what comes next now, up to blocks that stay; sorted
    std::vector<Block> staying = {};              // those of them that stay
    std::optional<Dominators> near = {};          // before the pass, up to blocks that stay
    std::optional<Dominators> far = {};           // and past them
    std::optional<Dominators::Places> staying_near = {}, staying_far = {};
  };
  void find_gaps(const Shape& now, std::vector<Suspect>& suspects);
  void find_gap(const Shape& now, Begin& from, Suspect& record) const;
  void look_at_now(const Shape& now, Begin& from) const;
  // Is the record not among what comes next now?
  bool is_beside(const Begin& from, const Suspect& record) const;
  // What comes next now, up to the record; without it only blocks that stay.
  Next next_now(const Shape& now, const Begin& from, const Suspect& record) const;
  // Was there a way past the record to none of these blocks, or not to all of them?
  bool has_way_past(Begin& from, llvm::ArrayRef<Block> blocks, const Suspect& record) const;
  // From a block that stays, others to which there was no way but by one that stays, too. Those past which
  // such a way may lead now are among `passed`.
  struct NewWays {
    Blocks to;
    Blocks passed;
  };
  NewWays find_new_ways(const Shape& now, Block from) const;
  void find_gap_of_new_way(const Shape& now, Begin& from, const NewWays& ways, Suspect& record) const;

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
  std::optional<std::vector<bool>> on_circles_;  // of blocks that went; if it was asked
  mutable Walk walk_;
};

} // namespace rdb::codegen
