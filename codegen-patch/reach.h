// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A write that is out of its place matters only to those arguments of a region whose memory it may change.
// What a region reads through each argument is known from its code; whether the write can get there is asked
// of LLVM's alias analysis, at the end of optimisation.
#pragma once

#include "codegen-patch/memory_target.h"
#include "codegen-patch/pieces.h"
#include "llvm-passes/extractor/extraction.h"

#include <memory>
#include <vector>

namespace llvm {
class Function;
class Value;
} // namespace llvm

namespace rdb::codegen {

// The memory of one argument, or of a global variable that the region reads, at one label.
struct Reach {
  struct Home {
    const llvm::Value* address;
    Extent bytes; // of the variable; nothing else is there
  };
  const llvm::Value* own = nullptr;    // address of the variable, if it is in memory
  const llvm::Value* behind = nullptr; // the variable's value, if it is a pointer that is known
  const extractor::Follow* follow = nullptr;
  std::vector<Home> parts = {}; // those that are in memory of a variable that was taken apart
};

class AliasQueries {
public:
  explicit AliasQueries(llvm::Function& function);
  ~AliasQueries();

  // The arguments that the write cannot touch, in the target's `spares_*`.
  void spare(Target& target, const std::vector<Reach>& arguments);

private:
  bool is_apart(const Target& target, const llvm::Value& from, const extractor::Reads& reads);
  bool is_apart(const Target& target, const std::vector<Reach::Home>& parts, const extractor::Reads& reads);
  bool is_of_other_type(const Target& target, const extractor::Reads& reads);

  struct Analyses;
  std::unique_ptr<Analyses> analyses_;
};

} // namespace rdb::codegen
