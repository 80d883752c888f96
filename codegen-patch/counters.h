// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that change by the same with each turn of a loop, as records name them. A pass may make the loop
// count in another way: such a value is the same afterwards if it is so at the loop's begin, and changes by
// as much.
#pragma once

#include "codegen-patch/samples.h"

#include <map>
#include <optional>

namespace llvm {
class BasicBlock;
class DbgVariableRecord;
class PHINode;
class Value;
} // namespace llvm

namespace rdb::codegen {

struct Counter {
  const llvm::BasicBlock* from;
  const llvm::BasicBlock* turn;
  Sampled first;
  Sampled step;
};

class Counters {
public:
  // `leaves`: what values are computed from. It stays as it is.
  explicit Counters(const Samples& leaves) : leaves_(leaves), any_(Samples::on_top_of(leaves)) {}

  // None if what the record names is not one.
  std::optional<Counter> find(const llvm::DbgVariableRecord& record);

private:
  // The phis that a value is computed from.
  struct Phis {
    const llvm::PHINode* one = nullptr;
    bool has_more = false;
    void add(const Phis& others);
  };
  Phis phis_of(const llvm::Value& value);
  // One that is computed from itself, on the way back in a loop.
  struct Turn {
    unsigned way; // by which the loop comes back
    Samples at_start;
    Samples at_next;
  };
  Turn* turn_of(const llvm::PHINode& phi);

  const Samples& leaves_;
  Samples any_; // at any turn
  std::map<const llvm::Value*, Phis> phis_;
  std::map<const llvm::PHINode*, std::optional<Turn>> turns_;
};

} // namespace rdb::codegen
