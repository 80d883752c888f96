// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mark of a write that the optimiser removed is all that tells of it. A block that holds nothing else is
// empty to the optimiser, and goes with the mark; the labels behind it stay. So what that write would have
// changed is stale from then on at the labels that are reached from there.
#pragma once

#include "codegen-patch/write_tags.h"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace llvm {
class DILabel;
} // namespace llvm

namespace rdb::codegen {

class LostMarks {
public:
  explicit LostMarks(const WriteTags& tags) : tags_(tags) {}

  // Around a pass over a function.
  void before(const llvm::Function& function);
  void after(const llvm::Function& function);

  // What is stale at a label for that reason.
  std::vector<Target> stale_at(const llvm::DbgLabelRecord& label) const;

private:
  using Mark = std::pair<std::string, const llvm::DILocation*>; // by name and copy of its function
  using Labels = std::set<const llvm::DILabel*>;
  static std::map<const llvm::BasicBlock*, Labels> labels_behind(const llvm::Function& function);

  std::map<Mark, Labels> without_write_; // with the labels that are reached from there
  const WriteTags& tags_;
  std::map<const llvm::DILabel*, std::set<std::string>> lost_;
};

} // namespace rdb::codegen
