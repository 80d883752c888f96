// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pass may change what an instruction computes as long as nobody who uses it can tell: where only some bits
// of the result are needed, or where it only counts under a condition. Debug records do not count as uses,
// and name the instruction still. So around such passes it is asked of each record whether what it names is
// computed to the same as before; else the record says nothing from then on.
#pragma once

#include "codegen-patch/counters.h"
#include "codegen-patch/samples.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/ValueHandle.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace llvm {
class BasicBlock;
class DIExpression;
class DILocalVariable;
class DILocation;
class DbgVariableRecord;
class Function;
} // namespace llvm

namespace rdb::codegen {

class ValueCheck {
public:
  // Does a use by a phi need the whole of a value? To some passes it does not.
  enum class Phis { kNeedAll, kNeedParts };

  // Around a pass.
  void before(const llvm::Function& function, Phis phis);
  void after(llvm::Function& function);

private:
  using Incoming = std::vector<std::pair<const llvm::BasicBlock*, Sampled>>;
  // A value that a record depends on. The handle follows it when another one, equal to it, takes its place.
  struct Known {
    llvm::WeakTrackingVH now;
    Sampled sampled;
    bool is_fixed;     // the pass cannot change it: it is not computed, or all of it is needed
    Incoming incoming; // of a phi
    unsigned kind = 0; // of instruction, and of comparison
    std::vector<const llvm::Value*> operands;
    bool is_new = false; // another phi took its place
  };
  struct Expected {
    const llvm::DILocalVariable* variable;
    const llvm::DILocation* inlined_at;
    const llvm::DIExpression* expression;
    std::vector<size_t> operands; // among the values known
    std::optional<Sampled> sampled;
    std::optional<Counter> counter;
  };

  bool is_needed(const llvm::Value& value) const;
  void find_new_phis(const llvm::Function& function);
  Samples fixed_samples(const llvm::Function& function, const std::set<size_t>& changed) const;
  // Behind the pass.
  struct Now {
    Samples fixed;
    Samples computed;         // from those
    std::set<size_t> changed; // phis that take other values than before
  };
  Now look(const llvm::Function& function) const;
  // Is it still computed in the same way from the same? Then it does not matter how little samples tell.
  bool is_untouched(const llvm::Value& value, const Now& now, std::set<const llvm::Value*>& seen) const;
  bool is_as_before(const llvm::DbgVariableRecord& record, const Expected& expected, Now& now,
                    Counters& counters) const;

  Phis phis_ = Phis::kNeedAll;
  std::vector<Known> known_;
  llvm::DenseMap<const llvm::Value*, size_t> numbers_;                 // of those known
  llvm::MapVector<const llvm::DbgVariableRecord*, Expected> expected_; // in the order of the records
};

} // namespace rdb::codegen
